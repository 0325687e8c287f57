// SPDX-License-Identifier: Apache-2.0
// Restricts a decoder to the scores of the last token, because the scores of a whole prompt are
// large.
#pragma once

#include <memory>

#include "frontend/api/model.h"

namespace tartan::generate {

// Returns `model` with only the last row of the output `scores`, [batch, tokens, scores]. An output
// of another rank is unchanged.
std::shared_ptr<const api::Model> WithLastScores(std::shared_ptr<const api::Model> model,
                                                 size_t scores);

}  // namespace tartan::generate
