// Requests made harder step by step (Xu et al., 2023, arXiv 2304.12244).
#include "data/catalogue/families.hpp"

namespace owlet {

std::vector<CatalogueSet> wizard_lm_sets() {
  std::vector<CatalogueSet> sets;
  sets.push_back({.name = "wizard-lm",
                  .repo = "WizardLMTeam/WizardLM_evol_instruct_V2_196k",
                  .licence = "MIT",
                  .kind = DatasetKind::chat,
                  .format = "json",
                  .layout = "sharegpt",
                  .bytes = 340'000'000,
                  .content = "143,000 requests of growing difficulty",
                  .purpose = "harder tasks: reasoning, code, constraints",
                  .parts = {{"train", "WizardLM_evol_instruct_V2_143k.json"}}});
  return sets;
}

}  // namespace owlet
