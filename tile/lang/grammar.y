/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of Tile; README.md describes it and the precedence of operators. Actions only build
   the tree of ast.h: names and sizes are checked by the binder. */

%require "3.8"
%language "c++"
%skeleton "lalr1.cc"
%define api.namespace {tartan::lang}
%define api.parser.class {Grammar}
%define api.value.type variant
%define api.value.automove
%define api.token.constructor
%define api.token.prefix {T_}
%define api.location.type {SourceRange}
%define parse.error custom
%define parse.lac full
%locations
%param { void* scanner } { ParseContext& tree }

%code requires {
#include "tile/lang/parse_context.h"
}

%code {
namespace tartan::lang {
Grammar::symbol_type NextToken(void* scanner, ParseContext& tree);
}
#undef yylex
#define yylex NextToken
}

%token END 0 "end of text"
%token FUNCTION "function" DEFAULT "default" NO_DEFRACT "no_defract"
%token <std::string> UPPER "tensor name" LOWER "index name"
%token <int64_t> INTEGER "integer"
%token MIN_MAGNITUDE "9223372036854775808"
%token <double> FLOAT "number"
%token LEFT_PAREN "(" RIGHT_PAREN ")" LEFT_BRACKET "[" RIGHT_BRACKET "]" LEFT_BRACE "{"
%token RIGHT_BRACE "}" ARROW "->" COMMA "," SEMICOLON ";" COLON ":" QUESTION "?" ASSIGN "="
%token EQUAL "==" NOT_EQUAL "!=" LESS "<" LESS_EQUAL "<=" GREATER ">" GREATER_EQUAL ">="
%token SHIFT_LEFT "<<" SHIFT_RIGHT ">>" PLUS "+" MINUS "-" STAR "*" SLASH "/" PERCENT "%"
%token AND "&" OR "|" XOR "^" AND_AND "&&" OR_OR "||" TILDE "~" NOT "!"

%right "?" ":"
%left "||"
%left "&&"
%left "|"
%left "^"
%left "&"
%nonassoc "==" "!="
%nonassoc "<" ">" "<=" ">="
%left "<<" ">>"
%left "+" "-"
%left "*" "/" "%"
%precedence PREFIX

%type <std::vector<Parameter>> parameters parameter_list
%type <Parameter> parameter dims
%type <Attribute> attribute
%type <std::vector<Attribute>> attributes
%type <std::vector<std::string>> attribute_arguments
%type <std::string> any_name function_name
%type <Statement> body
%type <Contraction> contraction contraction_head combined output_access
%type <TensorAccess> access
%type <Aggregation> aggregation
%type <Combination> combination
%type <std::vector<ExprPtr>> polys exprs
%type <std::vector<ParsedExpr>> arguments argument_list
%type <ParsedExpr> poly expr

%%

text: function | text function;

function:
  "function" function_name "(" parameters ")" "->" "(" outputs ")" "{" statements "}"
    { tree.EndFunction(@1.begin, $function_name, $parameters); }
;

function_name: %empty { } | LOWER;

parameters: %empty { } | parameter_list;

parameter_list:
  parameter { $$.push_back($1); }
| parameter_list "," parameter { $$ = $1; $$.push_back($3); }
;

parameter:
  UPPER { $$.position = @1.begin; $$.name = $1; }
| UPPER "[" "]" { $$.position = @1.begin; $$.name = $1; $$.has_dims = true; }
| UPPER "[" dims "]" { $$ = $3; $$.position = @1.begin; $$.name = $1; $$.has_dims = true; }
;

dims:
  UPPER { $$.dims.push_back($1); $$.dim_positions.push_back(@1.begin); }
| INTEGER { $$.dims.push_back(std::to_string($1)); $$.dim_positions.push_back(@1.begin); }
| dims "," UPPER
    { $$ = $1; $$.dims.push_back($3); $$.dim_positions.push_back(@3.begin); }
| dims "," INTEGER
    { $$ = $1; $$.dims.push_back(std::to_string($3)); $$.dim_positions.push_back(@3.begin); }
;

outputs: %empty | output_list;

output_list: output | output_list "," output;

output:
  UPPER {
    tree.current.outputs.push_back($1);
    tree.current.output_positions.push_back(@1.begin);
  }
;

statements: %empty | statements statement;

statement:
  attributes body ";" {
    Statement statement = $2;
    statement.attributes = $1;
    tree.current.statements.push_back(std::move(statement));
  }
| error ";" { yyerrok; }
;

attributes: %empty { } | attributes attribute { $$ = $1; $$.push_back($2); };

attribute:
  "[" "[" any_name "]" "]" { $$.position = @3.begin; $$.name = $3; }
| "[" "[" any_name "(" attribute_arguments ")" "]" "]"
    { $$.position = @3.begin; $$.name = $3; $$.arguments = $5; }
;

attribute_arguments:
  any_name { $$.push_back($1); }
| attribute_arguments "," any_name { $$ = $1; $$.push_back($3); }
;

any_name: UPPER | LOWER;

body:
  UPPER "=" expr { $$.position = @1.begin; $$.node = Assignment{$1, $3.expr}; }
| contraction { $$.position = @1.begin; $$.node = $1; }
;

contraction:
  contraction_head "(" combined ")" {
    Contraction head = $1;
    $$ = $3;
    $$.aggregation = head.aggregation;
    $$.output = std::move(head.output);
    $$.output_dims = std::move(head.output_dims);
  }
| contraction "," poly "<" expr
    { $$ = $1; $$.constraints.push_back(Constraint{$3.expr, $5.expr}); }
| contraction "no_defract" { $$ = $1; $$.no_defract = true; }
| contraction "default" UPPER {
    $$ = $1;
    if (!$$.default_tensor.empty()) {
      tree.Report(@2.begin, "the contraction has two default tensors");
    }
    $$.default_tensor = $3;
    $$.default_position = @3.begin;
  }
;

contraction_head:
  output_access "=" aggregation { $$ = $1; $$.aggregation = $3; }
| output_access "==" { $$ = $1; $$.aggregation = Aggregation::kAssign; }  // '= =(' without a blank
;

aggregation:
  "+" { $$ = Aggregation::kSum; }
| "*" { $$ = Aggregation::kProduct; }
| ">" { $$ = Aggregation::kMax; }
| "<" { $$ = Aggregation::kMin; }
| "=" { $$ = Aggregation::kAssign; }
;

output_access:
  UPPER "[" "]" { $$.output = TensorAccess{@1.begin, $1, {}}; }
| UPPER "[" ":" "]" { $$.output = TensorAccess{@1.begin, $1, {}}; }
| UPPER "[" polys "]" { $$.output = TensorAccess{@1.begin, $1, $3}; }
| UPPER "[" polys ":" exprs "]"
    { $$.output = TensorAccess{@1.begin, $1, $3}; $$.output_dims = $5; }
;

combined:
  access { $$.inputs.push_back($1); }
| access combination access {
    $$.combination = $2;
    $$.inputs.push_back($1);
    $$.inputs.push_back($3);
  }
| access combination access "?" access {
    if ($2 != Combination::kEqual) {
      tree.Report(@2.begin, "only a comparison selects: write A[...] == B[...] ? C[...]");
    }
    $$.combination = Combination::kCond;
    $$.inputs.push_back($1);
    $$.inputs.push_back($3);
    $$.inputs.push_back($5);
  }
;

combination:
  "*" { $$ = Combination::kMultiply; }
| "+" { $$ = Combination::kAdd; }
| "==" { $$ = Combination::kEqual; }
;

access:
  UPPER "[" "]" { $$ = TensorAccess{@1.begin, $1, {}}; }
| UPPER "[" polys "]" { $$ = TensorAccess{@1.begin, $1, $3}; }
;

polys:
  poly { $$.push_back($1.expr); }
| polys "," poly { $$ = $1; $$.push_back($3.expr); }
;

poly:
  INTEGER { $$ = tree.Integer(@$, $1); }
| "-" MIN_MAGNITUDE { $$ = tree.Integer(@$, INT64_MIN); }
| UPPER { $$ = tree.NameOf(@$, $1); }
| LOWER { $$ = tree.NameOf(@$, $1); }
| INTEGER LOWER {  // 2i is 2*i
    $$ = tree.Binary(@2, "mul", tree.Integer(@1, $1), tree.NameOf(@2, $2));
  }
| "-" poly %prec PREFIX { $$ = tree.Unary(@1, "neg", $2); }
| poly "+" poly { $$ = tree.Binary(@2, "add", $1, $3); }
| poly "-" poly { $$ = tree.Binary(@2, "sub", $1, $3); }
| poly "*" poly { $$ = tree.Binary(@2, "mul", $1, $3); }
| poly "/" poly { $$ = tree.Binary(@2, "div", $1, $3); }
| "(" poly ")" { $$ = $2; }
;

exprs:
  expr { $$.push_back($1.expr); }
| exprs "," expr { $$ = $1; $$.push_back($3.expr); }
;

arguments: %empty { } | argument_list;

argument_list:
  expr { $$.push_back($1); }
| argument_list "," expr { $$ = $1; $$.push_back($3); }
;

expr:
  INTEGER { $$ = tree.Integer(@$, $1); }
| "-" MIN_MAGNITUDE { $$ = tree.Integer(@$, INT64_MIN); }
| FLOAT { $$ = tree.Float(@$, $1); }
| UPPER { $$ = tree.NameOf(@$, $1); }
| LOWER { $$ = tree.NameOf(@$, $1); }
| any_name "(" arguments ")" { $$ = tree.CallOf(@1, $1, $3); }
| "-" expr %prec PREFIX { $$ = tree.Unary(@1, "neg", $2); }
| "~" expr %prec PREFIX { $$ = tree.Unary(@1, "bit_not", $2); }
| "!" expr %prec PREFIX { $$ = tree.Unary(@1, "logical_not", $2); }
| expr "+" expr { $$ = tree.Binary(@2, "add", $1, $3); }
| expr "-" expr { $$ = tree.Binary(@2, "sub", $1, $3); }
| expr "*" expr { $$ = tree.Binary(@2, "mul", $1, $3); }
| expr "/" expr { $$ = tree.Binary(@2, "div", $1, $3); }
| expr "%" expr { $$ = tree.Binary(@2, "mod", $1, $3); }
| expr "<<" expr { $$ = tree.Binary(@2, "bit_left", $1, $3); }
| expr ">>" expr { $$ = tree.Binary(@2, "bit_right", $1, $3); }
| expr "<" expr { $$ = tree.Binary(@2, "cmp_lt", $1, $3); }
| expr "<=" expr { $$ = tree.Binary(@2, "cmp_le", $1, $3); }
| expr ">" expr { $$ = tree.Binary(@2, "cmp_gt", $1, $3); }
| expr ">=" expr { $$ = tree.Binary(@2, "cmp_ge", $1, $3); }
| expr "==" expr { $$ = tree.Binary(@2, "cmp_eq", $1, $3); }
| expr "!=" expr { $$ = tree.Binary(@2, "cmp_ne", $1, $3); }
| expr "&" expr { $$ = tree.Binary(@2, "bit_and", $1, $3); }
| expr "^" expr { $$ = tree.Binary(@2, "bit_xor", $1, $3); }
| expr "|" expr { $$ = tree.Binary(@2, "bit_or", $1, $3); }
| expr "&&" expr { $$ = tree.Binary(@2, "logical_and", $1, $3); }
| expr "||" expr { $$ = tree.Binary(@2, "logical_or", $1, $3); }
| expr "?" expr ":" expr {
    std::vector<ParsedExpr> arguments;
    arguments.push_back($1);
    arguments.push_back($3);
    arguments.push_back($5);
    $$ = tree.CallOf(@2, "cond", std::move(arguments));
  }
| "(" expr ")" { $$ = $2; }
;

%%

namespace tartan::lang {

void Grammar::error(const SourceRange& range, const std::string& message) {
  tree.Report(range.begin, message);
}

void Grammar::report_syntax_error(const context& state) const {
  symbol_kind_type kinds[YYNTOKENS];
  const int count = state.expected_tokens(kinds, YYNTOKENS);
  std::vector<absl::string_view> expected;
  for (int i = 0; i < count; ++i) expected.push_back(symbol_name(kinds[i]));
  const absl::string_view kind = symbol_name(state.token());
  const absl::string_view before = tree.source().text.substr(0, tree.offset());
  const SourceRange& range = state.location();
  if (range.begin.line != range.end.line || kind == "end of text") {
    tree.Report(tree.EndOfCode(), ExplainSyntaxError("", kind, expected, before));
    return;
  }
  const absl::string_view got =
      tree.source().text.substr(tree.offset(), range.end.column - range.begin.column);
  tree.Report(range.begin, ExplainSyntaxError(got, kind, expected, before));
}

}  // namespace tartan::lang
