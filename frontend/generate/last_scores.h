// SPDX-License-Identifier: Apache-2.0
// A decoder that gives the scores of the last token alone: those of a whole prompt are many.
#pragma once

#include <memory>

#include "frontend/api/model.h"

namespace tartan::generate {

// `model` with the last row of the output `scores`, [batch, tokens, scores], instead of all rows;
// an output of another rank stays as it is.
std::shared_ptr<const api::Model> WithLastScores(std::shared_ptr<const api::Model> model,
                                                 size_t scores);

}  // namespace tartan::generate
