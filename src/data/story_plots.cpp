#include "data/story_plots.hpp"

namespace owlet::stories {
namespace {

// clang-format off
// Openings with a child; each ends with a space.
constexpr std::string_view kOpening =
    "[{@once} a [little|young|small] {girl} named {name}. [{He} [loved|liked] to [play|laugh|sing|run|dance]. "
    "|{He} lived in a [small|quiet] house [near|beside] the {place}. |{He} was very {trait}. ||]|{@once} a {trait} "
    "{girl} named {name}. |{name} was a [{trait}|little|young] {girl}[ who loved to [play|run|sing]| who lived "
    "near the {place}|]. |In a [small|little|quiet] house [near|beside] the {place} lived a {girl} named {name}. ]";

constexpr std::string_view kOnce =
    "[Once upon a time, there was|Once upon a time, there lived|Once there was|There once was|Long ago, there was]";

constexpr std::string_view kDay =
    "[One day,|One {weather} day,|On a {weather} morning,|One {weather} afternoon,|After breakfast one day,]";

constexpr std::string_view kHappyEnd =
    "[It was a [good|happy|wonderful] day. |{name} was very happy. |That night, {name} slept with a smile. |||]";

// The thing that is lost is the thing that is found, in its color, at a spot that fits.
constexpr std::string_view kLost =
    "{@opening}[{name}|{He}] had {a color} {thing}[ from {his} {relative}| that {he} loved very much|]. "
    "[{thing_detail} |]\n"
    "{@day} {name} [took the {thing} to the {place}|went to the {place} with the {thing}|carried the {thing} to "
    "the {place}]. [{place_detail} |][Suddenly,|But then|Then|All at once,] the {thing} {escape}. {name} [looked "
    "everywhere|looked and looked], but {he} could not [find|see] it. [{He} began to cry. |{He} felt very sad. "
    "|{He} sat down on the ground. |]\n"
    "{A helper_look} {helper} [came by|heard {him}|saw {him}|came out of the bushes]. \"[Why are you sad|What is "
    "wrong|Can I help you]?\" asked the {helper}. \"I [lost|can not find] my {color} {thing},\" said {name}. [\"I "
    "will help you,\" said the {helper}. |\"Do not worry,\" said the {helper}. |\"Wait here,\" said the {helper}. "
    "]The {helper} {search}. [Soon|After a while|In a moment], the {helper} saw something {color} {spot}. It was "
    "the {thing}!\n"
    "[\"Thank you, [kind |dear |]{helper}!\" said {name}. |{name} was so happy and thanked the {helper}. |\"You "
    "found it! Thank you!\" said {name} to the {helper}. ][From that day on, {name} and the {helper} were "
    "[good|best] friends.|{name} took the {thing} home and [held it tight|never lost it again].|Then {name} and "
    "the {helper} played together[ until the sun went down|].]";

// The wish comes true through work, and it is the very thing wished for.
constexpr std::string_view kWish =
    "{@opening}{name} [had one big wish. {He} wanted {a color} {thing}|wanted one thing more than anything: {a "
    "color} {thing}|wished for {a color} {thing}]. [Every night, {he} looked at the stars and thought of it. |{He} "
    "saw one in a shop and thought of it all day. |]\n"
    "{@day} {his} {relative} asked, \"[Can|Will] you help me {chore}?\" [{name} wanted to play, but {he} said yes. "
    "|\"Yes, I will help you,\" said {name}. |]{He} {chore_past}. [It was hard work, but {he} did not stop. |It "
    "took a long time, but {he} did not stop. |]\n"
    "[When the work was done|In the evening|After that], {his} {relative} smiled. \"[You helped me so much|You "
    "worked so hard|You are a good helper],\" {rhe} said. \"[This is for you|I have something for you].\" {He} "
    "opened [the box|the bag|{his} eyes wide]. [Inside was|There was|It was] {a color} {thing}! [{thing_detail} "
    "|]\"[My wish came true|This is what I wished for]!\" said {name}. [{He} hugged {his} {relative}[ and "
    "laughed|]. |]{name} {used} [until bedtime|all evening|and was happy].";

// First no, then a change of heart; the food is the one from the beginning.
constexpr std::string_view kShare =
    "{@opening}{@day} {name} took a [big|nice|sweet] {food} to the {place}. [{place_detail} |]{friend} was there "
    "too. \"[I am hungry|I have nothing to eat],\" said {friend}. \"[Can I have some of your {food}|Will you share "
    "your {food} with me]?\" \"No, it is mine,\" said {name}. {friend} [looked down and walked away|was sad and "
    "sat under a tree].\n"
    "{name} took a bite of the {food}, but it did not taste good. {He} [thought of {friend}|looked at "
    "{friend}|felt bad]. [\"It is not nice to eat alone,\" {he} said. |]So {name} went to {friend}. \"I am "
    "sorry,\" {he} said. \"[We can share the {food}|Half of the {food} is for you].\" {name} {split} the {food} in "
    "two and gave {fhim} the [big|best] part.\n"
    "\"Thank you, {name},\" said {friend}. \"You are a good friend.\" [They ate the {food} together and laughed. "
    "|Now the {food} tasted very good. ][Then they played [until dark|until the sun went down]. |][{name} learned "
    "that it is [good|fun|better] to share.|From that day on, they shared everything.|]";

// Something breaks, the truth is told, and it is mended.
constexpr std::string_view kBroken =
    "{@opening}{His} {relative} had {a color} {breakable} and loved it very much. [It was very old. |It stood on "
    "the table. |]\n"
    "{@day} {name} ran [through the house|into the room] and did not look. Crash! The {breakable} fell down and "
    "broke. {name} was [afraid|scared]. [{He} wanted to hide the pieces {hiding}. But {he} knew that it was not "
    "right. |\"What will I do now?\" {he} thought. |]{He} went to {his} {relative} and said, \"I broke your "
    "{color} {breakable}. I am [so |very |]sorry.\"\n"
    "[{His} {relative} was sad, but {rhe} was not angry.|{His} {relative} looked at the pieces and then at "
    "{name}.|{His} {relative} said nothing for a moment.] \"Thank you for telling the truth,\" {rhe} said. \"We "
    "can fix the {breakable} together.\" They took some glue and put the pieces back[, one by one|]. [Soon|At "
    "last], the {breakable} was whole again. [{name} felt much better. |{name} smiled. |][After that, {name} "
    "always walked slowly in the house.|{name} learned that it is [good|best] to tell the truth.|{name} hugged "
    "{his} {relative}.]";

// What the animal suffers from decides what helps and what is told at home.
constexpr std::string_view kRescue =
    "{@opening}{@day} {name} walked to the {place}. [{place_detail} |]{He} heard a [small|soft|sad] sound [behind "
    "a tree|near a rock|in the grass]. It was a [little|tiny] {pet_color} {pet}. The {pet} was [very |so "
    "|]{need}.\n"
    "\"[Poor little {pet}|Oh, little {pet}],\" said {name}. \"Are you {need}?\" [The {pet} looked at {him} with "
    "big eyes. |The {pet} made a small sound. |]{name} [knew what to do|had an idea]. {remedy}. [Soon, the {pet} "
    "was not {need} any more. |Now the {pet} felt better. |]\n"
    "{name} took the {pet} home [and showed it to|to] {his} {relative}. \"[It|The {pet}] was {need}, so I "
    "{told_remedy},\" {he} said. \"[You have a kind heart|You did the right thing|That was good of you],\" said "
    "{his} {relative}. [\"We can keep it. |\"It can stay with us. |\"]What is its name?\" \"{pet_name}!\" said "
    "{name}. [From that day on, {pet_name} followed {name} everywhere.|{pet_name} and {name} were best "
    "friends.|That night, {pet_name} slept beside {name}.]";

// A plan, rain, something else to do, and the plan again.
constexpr std::string_view kRain =
    "{@opening}{@day} {name} wanted to go to the {place}[ with {a color} {thing}| with {his} {relative}|]. But "
    "when {he} looked out of the window, it [was raining|began to rain]. \"[Oh no|It is not fair],\" said {name}. "
    "\"Now I can not go to the {place}.\" [{He} sat down and was sad. |A tear ran down {his} face. |]\n"
    "{His} {relative} had an idea. \"[Let us|We can] {indoor}!\" {rhe} said. So they {indoor_past}. "
    "{indoor_detail} [{name} forgot the rain. |{name} laughed and laughed. |It was a lot of fun. ]\n"
    "[After lunch|Then|Some time later], the rain stopped and the sun came out. [There was a big rainbow in the "
    "sky. |Everything was wet and bright. |]\"Now we can go to the {place}!\" said {name}. They [ran|walked] to "
    "the {place} [and jumped over the puddles|hand in hand]. [\"I like rainy days too,\" said {name}. |\"First we "
    "{indoor_past}, and now this,\" said {name}. \"What a good day!\" |]{@happy_end}";

// Trying, failing, advice, and doing the very thing that was wanted.
constexpr std::string_view kLearn =
    "{@opening}{name} wanted to {skill}. [{His} friend {friend} could do it, but {name} could not. |All {his} "
    "friends could do it. |]{@day} {he} tried. But {he} {mishap}. [{He} tried again, and {he} {mishap} again. "
    "|]\"I can not {skill},\" said {name}[ and began to cry| in a small voice|].\n"
    "{His} {relative} [came and sat down beside {him}|saw it|heard this]. \"Do not give up,\" {rhe} said. "
    "\"{advice}.\" [{name} listened and nodded. |{name} took a deep breath. |\"I will try,\" said {name}. ]So "
    "{name} tried [once more|again and again|one more time]. [It was not easy. |{He} was a little afraid. |]\n"
    "[And then|This time|At last], {he} {success}! \"[Look at me|I did it]! I can {skill}!\" [said|shouted] "
    "{name}. {His} {relative} clapped[ and laughed|]. [\"I am proud of you,\" {rhe} said. |\"You did not give "
    "up,\" {rhe} said. |]{name} was [so |very |]proud of {himself}. {@happy_end}";

// A present made in secret; it is shown as it was made.
constexpr std::string_view kBirthday =
    "{@opening}[Soon|Tomorrow] was the birthday of {his} {relative}. {name} wanted to give {rhim} a present, but "
    "{he} had no money. [\"What can I do?\" {he} asked {friend}. \"You can make something,\" said {friend}. |{He} "
    "thought and thought. |]Then {name} had an idea.\n"
    "{He} [went to {his} room|sat down at the table] and {gift_past}. {gift_detail} [It took all [day|morning]. "
    "|{He} worked very hard. |]{name} [kept the {gift} a secret|did not tell anyone about the {gift}].\n"
    "[On the birthday|The next day], {name} [ran|went] to {his} {relative}. \"Happy birthday!\" {he} said. \"I "
    "have a {gift} for you.\" [{His} {relative} was surprised. |]\"[Did you make this {gift}|Is this {gift} for "
    "me]?\" asked {his} {relative}. \"Yes, I made it for you,\" said {name}. {His} {relative} [hugged {him}|smiled "
    "a big smile|had happy tears]. \"This {gift} is the best present of all,\" {rhe} said. {@happy_end}";

// Patience: what was sown is what grows.
constexpr std::string_view kSeed =
    "{@opening}{@day} {his} {relative} gave {him} a [small|tiny] seed. \"[This will be|One day, this will be] a "
    "{plant},\" {rhe} said. {name} put the seed into the ground [in the garden|behind the house] and gave it "
    "water.\n"
    "The next day, {he} looked, but there was nothing. [\"It will never grow,\" said {friend}. |\"Where is my "
    "{plant}?\" asked {name}. |]\"[You have to wait|Be patient],\" said {his} {relative}. So {name} gave the seed "
    "water every day. [{He} sang to it. |{He} kept the birds away. |]It [rained|was windy], and the sun "
    "[shone|came back]. {name} waited and waited.\n"
    "[Then, one morning,|At last,] there was a little green leaf! [It grew and grew. |Day after day, it grew. ][In "
    "the summer|After many days], there was a [big|beautiful] {plant}. {plant_detail} \"[My {plant} is here|Look "
    "at my {plant}]!\" [said|shouted] {name}. [{He} gave it to {his} {relative}. |{His} {relative} smiled. \"You "
    "waited so well,\" {rhe} said. |]{@happy_end}";

// Small and strong: help is given and given back.
constexpr std::string_view kSmallHero =
    "[Once upon a time, there was|Once there was|In the forest lived] a little {hero} named {zippo}. {zippo} "
    "[wanted|wished for] {hero_goal}, but {hero_trouble}. [{Zhe} tried and tried. |\"I am too small,\" said "
    "{zippo}. |]\n"
    "{A helper_look} {mighty} came by. \"[Please help me|Can you help me]?\" asked {zippo}. \"I want "
    "{hero_goal}.\" [\"Of course,\" said the {mighty}. |The {mighty} laughed. \"That is easy,\" it said. ]The "
    "{mighty} {mighty_help}. \"Thank you!\" said {zippo}. \"One day, I will help you too.\" [\"But you are so "
    "small,\" said the {mighty}. |The {mighty} smiled and went away. |]\n"
    "{@day} {zippo} heard a sad sound. It was the {mighty}! The {mighty} {trouble}. [\"You helped me, and now I "
    "will help you,\" said {zippo}. |\"I am here, my friend,\" said {zippo}. |]{zippo} {favor}. \"Thank you, "
    "{zippo},\" said the {mighty}. \"[You are small, but you are a big friend|Even a small {hero} can help].\" "
    "[And so they were friends for ever.|From then on, the {hero} and the {mighty} were best friends.|They laughed "
    "and went home together.]";

// A sound in the dark has a plain reason.
constexpr std::string_view kDark =
    "{@opening}{name} was [afraid of|scared of] the dark. One {weather_night} night, {he} [lay in bed|could not "
    "sleep]. Then {he} heard a sound. \"{noise}!\" [{name} hid under the blanket. |{name} held {his} {thing} "
    "tight. |{name} sat up. ]\"[Is it a monster|What is that]?\" {he} [asked softly|thought].\n"
    "\"{noise}!\" There it was again. {name} called {his} {relative}. [{His} {relative} came with a light. |{His} "
    "{relative} came into the room. ]\"[There is something at the window|I hear a monster],\" said {name}. \"Let "
    "us look together,\" said {his} {relative}. They [took the light and went|walked slowly] to the window.\n"
    "It was only the {noise_maker}! {noise_reason} {name} [laughed|had to laugh]. \"[It was only the "
    "{noise_maker}|So it was the {noise_maker}],\" {he} said. \"[I am not afraid any more|Now I am not scared].\" "
    "[{His} {relative} kissed {him} good night. |{name} went back to bed. |]\"{noise},\" went the {noise_maker}, "
    "but {name} was [already |]asleep.";
// clang-format on

constexpr Plot kPlots[] = {
    {"lost", kLost}, {"wish", kWish},   {"share", kShare},       {"broken", kBroken}, {"rescue", kRescue},
    {"rain", kRain}, {"learn", kLearn}, {"birthday", kBirthday}, {"seed", kSeed},     {"small-hero", kSmallHero},
    {"dark", kDark},
};

}  // namespace

std::span<const Plot> plots() { return kPlots; }

const StoryRules& rules() {
  static const StoryRules table = {{"opening", kOpening}, {"once", kOnce}, {"day", kDay}, {"happy_end", kHappyEnd}};
  return table;
}

}  // namespace owlet::stories
