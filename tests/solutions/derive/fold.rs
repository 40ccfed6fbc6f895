//! Answers "is step N on?" in the text of the trainer, and folds away what the answers decide.
//!
//! Never prints Rust anew: it cuts the text where the syntax tree says, so that comments and layout survive.

use std::ops::Range;

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::token::Comma;
use syn::visit::{self, Visit};
use syn::{Arm, BinOp, Block, Expr, Lit, Local, Pat, Stmt, UnOp};

/// The text with every question about a step answered. `is_on` gets the step's name, such as `Broadcast`.
pub fn specialise(text: &str, is_on: &dyn Fn(&str) -> bool) -> String {
    let mut text = text.to_owned();
    loop {
        let cuts = cuts(&text, is_on);
        if cuts.is_empty() {
            return text;
        }
        // From the end, so that what is before stays where it is.
        for (range, new) in cuts.into_iter().rev() {
            text.replace_range(range, &new);
        }
    }
}

/// The outermost cuts that can be made, in the order of the text.
fn cuts(text: &str, is_on: &dyn Fn(&str) -> bool) -> Vec<(Range<usize>, String)> {
    let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    let mut folder = Folder { text, is_on, cuts: Vec::new() };
    folder.visit_file(&file);
    folder.cuts
}

struct Folder<'a> {
    text: &'a str,
    is_on: &'a dyn Fn(&str) -> bool,
    cuts: Vec<(Range<usize>, String)>,
}

impl<'a> Folder<'a> {
    fn source(&self, node: &impl Spanned) -> &'a str {
        &self.text[node.span().byte_range()]
    }

    /// What an expression of known outcome becomes.
    fn folded(&self, expression: &Expr) -> Option<String> {
        let source = |node: &Expr| self.source(node).to_owned();
        match expression {
            Expr::Call(call) if self.source(&call.func) == "on" => self.answer(&call.args),
            Expr::MethodCall(call) if self.source(&call.receiver) == "config.steps" && call.method == "contains" => {
                self.answer(&call.args)
            }
            Expr::MethodCall(call) if call.method == "then_some" => {
                let chosen = known(&call.receiver)?;
                Some(if chosen { format!("Some({})", self.source(&call.args)) } else { "None".into() })
            }
            Expr::Paren(paren) => is_whole(&paren.expr).then(|| source(&paren.expr)),
            Expr::Unary(not) if matches!(not.op, UnOp::Not(_)) => Some((!known(&not.expr)?).to_string()),
            Expr::Binary(both) => {
                // `and`: true leaves the other side, false decides. `or`: the other way round.
                let leaves = match both.op {
                    BinOp::And(_) => true,
                    BinOp::Or(_) => false,
                    _ => return None,
                };
                let (left, right) = (&*both.left, &*both.right);
                match (known(left), known(right)) {
                    (Some(value), _) => Some(if value == leaves { source(right) } else { value.to_string() }),
                    (_, Some(value)) => Some(if value == leaves { source(left) } else { value.to_string() }),
                    _ => None,
                }
            }
            Expr::If(choice) => match (known(&choice.cond)?, &choice.else_branch) {
                (true, _) => Some(self.value(&choice.then_branch)),
                (false, Some((_, other))) => Some(self.expression(other)),
                (false, None) => None,
            },
            Expr::Match(choice) => {
                let chosen = known(&choice.expr)?;
                let is_chosen = |arm: &&Arm| matches!(&arm.pat, Pat::Lit(literal) if as_bool(&literal.lit) == Some(chosen));
                Some(self.expression(&choice.arms.iter().find(is_chosen)?.body))
            }
            _ => None,
        }
    }

    fn answer(&self, arguments: &Punctuated<Expr, Comma>) -> Option<String> {
        let name = self.source(arguments.first()?).strip_prefix("Step::")?;
        Some((self.is_on)(name).to_string())
    }

    /// A block of one expression without its braces.
    fn expression(&self, expression: &Expr) -> String {
        match expression {
            Expr::Block(block) => self.value(&block.block),
            other => self.source(other).to_owned(),
        }
    }

    fn value(&self, block: &Block) -> String {
        match &block.stmts[..] {
            [Stmt::Expr(only, None)] => self.source(only).to_owned(),
            _ => self.source(block).to_owned(),
        }
    }

    /// What a statement becomes that is an `if` of known outcome: what stands between its braces, or nothing. And
    /// nothing is left of a binding that says nothing any more.
    fn folded_statement(&self, statement: &Stmt) -> Option<String> {
        match statement {
            Stmt::Expr(Expr::If(choice), _) => {
                let inside = |block: &Block| self.source(block).trim_start_matches('{').trim_end_matches('}').trim().to_owned();
                match (known(&choice.cond)?, &choice.else_branch) {
                    (true, _) => Some(inside(&choice.then_branch)),
                    (false, Some((_, other))) => match &**other {
                        Expr::Block(block) => Some(inside(&block.block)),
                        other => Some(self.source(other).to_owned()),
                    },
                    (false, None) => Some(String::new()),
                }
            }
            Stmt::Local(local) => self.says_nothing(local).then(String::new),
            _ => None,
        }
    }

    /// `let x = x;`, and the question that nobody asks any more.
    fn says_nothing(&self, local: &Local) -> bool {
        let (name, Some(init)) = (self.source(&local.pat), &local.init) else { return false };
        self.source(&init.expr) == name || (name == "on" && !self.text.contains("on(Step::"))
    }

    /// A statement that goes takes its line and the comment above along, but for the mark of a step.
    fn whole_lines(&self, statement: Range<usize>) -> Range<usize> {
        let start_of_line = |at: usize| self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[statement.end..].find('\n').map_or(self.text.len(), |length| statement.end + length + 1);
        let first = start_of_line(statement.start);
        let mut start = first;
        loop {
            let above = start_of_line(start.saturating_sub(1));
            let line = self.text[above..start].trim();
            if above == start || !line.starts_with("//") {
                return start..end;
            }
            if super::marks::Mark::of(line).is_some() {
                return first..end;
            }
            start = above;
        }
    }
}

impl<'ast> Visit<'ast> for Folder<'_> {
    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        match self.folded_statement(statement) {
            Some(nothing) if nothing.is_empty() => {
                self.cuts.push((self.whole_lines(statement.span().byte_range()), nothing));
            }
            Some(new) => self.cuts.push((statement.span().byte_range(), new)),
            None => visit::visit_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match self.folded(expression) {
            Some(new) => self.cuts.push((expression.span().byte_range(), new)),
            None => visit::visit_expr(self, expression),
        }
    }
}

fn known(expression: &Expr) -> Option<bool> {
    if let Expr::Lit(literal) = expression { as_bool(&literal.lit) } else { None }
}

fn as_bool(literal: &Lit) -> Option<bool> {
    if let Lit::Bool(literal) = literal { Some(literal.value) } else { None }
}

/// Needs no parentheses, wherever it stands.
fn is_whole(expression: &Expr) -> bool {
    matches!(expression, Expr::Lit(_) | Expr::Path(_) | Expr::Call(_) | Expr::MethodCall(_) | Expr::Field(_) | Expr::Paren(_))
}
