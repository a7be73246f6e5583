// Word tables of the story generator.
#include <array>

#include "base/error.hpp"
#include "data/story_plots.hpp"

namespace owlet::stories {
namespace {

using std::string_view;

// Children: name, pronouns, what they are.
constexpr string_view kChildKeys[] = {"name", "he", "him", "his", "himself", "girl"};
constexpr string_view kChildren[] = {
    "Lily", "she", "her", "her", "herself", "girl",  //
    "Mia",  "she", "her", "her", "herself", "girl",  //
    "Anna", "she", "her", "her", "herself", "girl",  //
    "Lucy", "she", "her", "her", "herself", "girl",  //
    "Emma", "she", "her", "her", "herself", "girl",  //
    "Rose", "she", "her", "her", "herself", "girl",  //
    "Nina", "she", "her", "her", "herself", "girl",  //
    "Tom",  "he",  "him", "his", "himself", "boy",   //
    "Ben",  "he",  "him", "his", "himself", "boy",   //
    "Max",  "he",  "him", "his", "himself", "boy",   //
    "Tim",  "he",  "him", "his", "himself", "boy",   //
    "Sam",  "he",  "him", "his", "himself", "boy",   //
    "Leo",  "he",  "him", "his", "himself", "boy",   //
    "Jack", "he",  "him", "his", "himself", "boy",
};

constexpr string_view kFriendKeys[] = {"friend", "fhe", "fhim", "fhis"};
constexpr string_view kFriends[] = {
    "Sue",  "she", "her", "her",  //
    "Ella", "she", "her", "her",  //
    "Kate", "she", "her", "her",  //
    "Finn", "he",  "him", "his",  //
    "Bill", "he",  "him", "his",  //
    "Dan",  "he",  "him", "his",
};

constexpr string_view kRelativeKeys[] = {"relative", "rhe", "rhim", "rhis"};
constexpr string_view kRelatives[] = {
    "mom",     "she", "her", "her",  //
    "dad",     "he",  "him", "his",  //
    "grandma", "she", "her", "her",  //
    "grandpa", "he",  "him", "his",
};

// Toys: what they can do, how they get lost, where they turn up, what one does with them.
constexpr string_view kThingKeys[] = {"thing", "thing_detail", "escape", "spot", "used"};
constexpr string_view kThings[] = {
    "ball",
    "It could bounce very high.",
    "rolled away",
    "under a bush",
    "played with the ball",  //
    "kite",
    "It could fly above the trees.",
    "flew away in the wind",
    "in a tall tree",
    "played with the kite",  //
    "car",
    "It was very fast.",
    "rolled down the path",
    "behind a big rock",
    "played with the car",  //
    "hat",
    "It was soft and warm.",
    "flew away in the wind",
    "in a tall tree",
    "wore the hat",  //
    "scarf",
    "It was long and soft.",
    "flew away in the wind",
    "in a tall tree",
    "wore the scarf",  //
    "drum",
    "It made a big sound. Boom, boom!",
    "rolled away",
    "behind a big rock",
    "played the drum",  //
    "balloon",
    "It danced in the air.",
    "flew away",
    "in a tall tree",
    "played with the balloon",  //
    "train",
    "It had six little wheels.",
    "rolled down the path",
    "in the long grass",
    "played with the train",  //
    "doll",
    "It had a pretty smile.",
    "fell out of the bag",
    "in the long grass",
    "played with the doll",  //
    "book",
    "It was full of pictures.",
    "fell out of the bag",
    "under a bush",
    "looked at the book",
};

constexpr string_view kColorKeys[] = {"color"};
constexpr string_view kColors[] = {"red", "blue", "green", "yellow", "pink", "white", "orange", "purple"};

constexpr string_view kPlaceKeys[] = {"place", "place_detail"};
constexpr string_view kPlaces[] = {
    "park",   "There were many trees and a long slide.",  //
    "garden", "The flowers smelled sweet.",               //
    "forest", "The birds sang in the trees.",             //
    "field",  "The grass was tall and soft.",             //
    "hill",   "From the top, you could see very far.",    //
    "farm",   "There were cows and hens.",                //
    "lake",   "The water was clear and still.",
};

constexpr string_view kWeatherKeys[] = {"weather"};
constexpr string_view kWeather[] = {"sunny", "warm", "windy", "bright", "cold", "cloudy"};

constexpr string_view kTraitKeys[] = {"trait"};
constexpr string_view kTraits[] = {"kind", "brave", "happy", "clever", "curious", "shy"};

// Animals that find what is lost: in a tree, and on the ground.
constexpr string_view kClimberKeys[] = {"climber", "climber_search"};
constexpr string_view kClimbers[] = {
    "bird",     "flew up and looked around",           //
    "owl",      "flew over the trees with open eyes",  //
    "squirrel", "ran up the trees and looked around",  //
    "cat",      "climbed up and looked around",
};
constexpr string_view kFinderKeys[] = {"finder", "finder_search"};
constexpr string_view kFinders[] = {
    "dog",    "put its nose to the ground and ran around",  //
    "rabbit", "hopped here and there",                      //
    "mouse",  "ran under all the leaves",                   //
    "fox",    "walked around with open eyes",
};
constexpr string_view kHelperLookKeys[] = {"helper_look"};
constexpr string_view kHelperLooks[] = {"old", "kind", "small", "friendly", "gray", "big"};

constexpr string_view kChoreKeys[] = {"chore", "chore_past"};
constexpr string_view kChores[] = {
    "clean the house",   "cleaned every room",               //
    "wash the dishes",   "washed all the plates and cups",   //
    "feed the hens",     "fed all the hens",                 //
    "pick the apples",   "picked three big bags of apples",  //
    "water the flowers", "gave water to all the flowers",    //
    "carry the wood",    "carried the wood into the house",
};

constexpr string_view kFoodKeys[] = {"food", "split"};
constexpr string_view kFoods[] = {
    "cake", "cut", "pie", "cut", "apple", "cut", "cookie", "broke", "sandwich", "cut", "bun", "broke",
};

constexpr string_view kBreakableKeys[] = {"breakable"};
constexpr string_view kBreakables[] = {"cup", "vase", "plate", "bowl", "lamp", "clock"};

constexpr string_view kPetKeys[] = {"pet", "pet_color", "pet_name"};
constexpr string_view kPets[] = {
    "kitten", "gray",   "Misty",  //
    "puppy",  "brown",  "Buddy",  //
    "duck",   "yellow", "Daisy",  //
    "bunny",  "white",  "Snow",   //
    "lamb",   "white",  "Cloud",  //
    "kitten", "black",  "Pepper",
};

// What an animal suffers from, what helps, and the same as the child tells it.
constexpr string_view kNeedKeys[] = {"need", "remedy", "told_remedy"};
constexpr string_view kNeeds[] = {
    "hungry",  "{He} gave the {pet} some bread and milk",      "gave it some bread and milk",  //
    "cold",    "{He} put {his} warm coat around the {pet}",    "put my warm coat around it",   //
    "wet",     "{He} dried the {pet} with a soft towel",       "dried it with a soft towel",   //
    "thirsty", "{He} gave the {pet} a bowl of fresh water",    "gave it a bowl of water",      //
    "tired",   "{He} made a soft bed of leaves for the {pet}", "made a soft bed of leaves for it",
};

constexpr string_view kIndoorKeys[] = {"indoor", "indoor_past", "indoor_detail"};
constexpr string_view kIndoors[] = {
    "bake some cookies",  "baked some cookies",   "The whole house smelled sweet.",         //
    "paint a picture",    "painted a picture",    "They painted a big yellow sun.",         //
    "play hide and seek", "played hide and seek", "{Name} hid under the bed.",              //
    "build a tent",       "built a tent",         "They made it from chairs and a sheet.",  //
    "sing some songs",    "sang some songs",      "They sang as loud as they could.",
};

// Something to learn: what goes wrong, the advice, and how it ends.
constexpr string_view kSkillKeys[] = {"skill", "mishap", "advice", "success"};
constexpr string_view kSkills[] = {
    "ride a bike",
    "fell off the bike",
    "Look ahead and keep your feet moving",
    "rode the bike all the way down the road",  //
    "swim",
    "got water in {his} nose",
    "Move your arms and stay calm",
    "swam all the way across the pond",  //
    "whistle",
    "made no sound at all",
    "Make your lips round and blow softly",
    "whistled a happy song",  //
    "climb the tree",
    "slid back down",
    "Hold on tight and look up",
    "climbed all the way to the top",  //
    "jump the rope",
    "stepped on the rope",
    "Listen to the rope and jump when it sings",
    "jumped the rope ten times",
};

constexpr string_view kGiftKeys[] = {"gift", "gift_past", "gift_detail"};
constexpr string_view kGifts[] = {
    "card",     "drew a card",       "It had a big {color} heart on it.",       //
    "crown",    "made a crown",      "It was made of {color} flowers.",         //
    "necklace", "made a necklace",   "It was made of {color} beads.",           //
    "picture",  "painted a picture", "It showed a house with {a color} door.",  //
    "song",     "made up a song",    "It was about {a color} bird.",
};
constexpr string_view kHidingKeys[] = {"hiding"};
constexpr string_view kHidings[] = {"under the bed", "behind the door", "in a box", "under the table"};

constexpr string_view kPlantKeys[] = {"plant", "plant_detail"};
constexpr string_view kPlants[] = {
    "sunflower", "It was taller than {name}.",    //
    "pumpkin",   "It was as round as the moon.",  //
    "rose",      "It smelled very sweet.",        //
    "melon",     "It was big and sweet.",         //
    "tomato",    "It was round and red.",
};

// Animal heroes: what they want, why they can not have it, who can.
constexpr string_view kHeroKeys[] = {"hero", "hero_goal", "hero_trouble", "mighty", "mighty_help"};
constexpr string_view kHeroes[] = {
    "mouse",
    "the apple on the tree",
    "the tree was too high",
    "bird",
    "flew up and dropped the apple",  //
    "hedgehog",
    "the berries across the river",
    "the river was too wide",
    "duck",
    "carried {zippo} across the river",  //
    "frog",
    "the flower on the wall",
    "the wall was too high",
    "goat",
    "jumped up and got the flower",  //
    "ant",
    "the nut under a rock",
    "the rock was too heavy",
    "bear",
    "lifted the rock with one paw",  //
    "rabbit",
    "the carrot in a deep hole",
    "the hole was too deep",
    "mole",
    "dug a path to the carrot",
};
constexpr string_view kHeroNameKeys[] = {"zippo", "zhe", "zhim", "zhis"};
constexpr string_view kHeroNames[] = {
    "Pip", "he", "him", "his", "Dot", "she", "her", "her", "Nibble", "he", "him", "his", "Tilly", "she", "her", "her",
};
// Trouble of the strong animal, and how even a small one helps.
constexpr string_view kFavorKeys[] = {"trouble", "favor"};
constexpr string_view kFavors[] = {
    "had a thorn in its foot", "pulled the thorn out",     //
    "was stuck in a net",      "bit through the net",      //
    "was all alone and sad",   "stayed and told a story",  //
    "had lost its way home",   "showed it the way home",
};

constexpr string_view kNoiseKeys[] = {"noise", "noise_maker", "noise_reason"};
constexpr string_view kNoises[] = {
    "Tap, tap, tap",    "branch", "The wind moved it against the window.",  //
    "Scratch, scratch", "cat",    "It wanted to come in.",                  //
    "Drip, drip, drip", "rain",   "It fell from the roof.",                 //
    "Hoot, hoot",       "owl",    "It sat in the tree and sang.",           //
    "Squeak, squeak",   "door",   "The wind moved it a little.",
};

constexpr WordTable kTables[] = {
    {kChildKeys, kChildren},  {kFriendKeys, kFriends},         {kRelativeKeys, kRelatives},
    {kThingKeys, kThings},    {kColorKeys, kColors},           {kPlaceKeys, kPlaces},
    {kWeatherKeys, kWeather}, {kTraitKeys, kTraits},           {kClimberKeys, kClimbers},
    {kFinderKeys, kFinders},  {kHelperLookKeys, kHelperLooks}, {kChoreKeys, kChores},
    {kFoodKeys, kFoods},      {kBreakableKeys, kBreakables},   {kPetKeys, kPets},
    {kNeedKeys, kNeeds},      {kIndoorKeys, kIndoors},         {kSkillKeys, kSkills},
    {kGiftKeys, kGifts},      {kHidingKeys, kHidings},         {kPlantKeys, kPlants},
    {kHeroKeys, kHeroes},     {kHeroNameKeys, kHeroNames},     {kFavorKeys, kFavors},
    {kNoiseKeys, kNoises},
};

}  // namespace

std::span<const WordTable> tables() { return kTables; }

const WordTable& table_of(std::string_view key) {
  for (const WordTable& table : kTables) {
    for (const std::string_view own : table.keys) {
      if (own == key) return table;
    }
  }
  fail(ErrorKind::internal, "no story table has the word '{}'", key);
}

}  // namespace owlet::stories
