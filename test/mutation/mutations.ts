import { parseAst } from 'vitest/node';

/** One change that a test should notice. */
export interface Mutation {
  kind: 'condition' | 'operator' | 'statement' | 'constant' | 'body';
  /** What is replaced, as positions in the source. */
  start: number;
  end: number;
  replacement: string;
}

interface SyntaxNode {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

const OPERATORS: Record<string, string> = {
  '&&': '||',
  '||': '&&',
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
};

/** What has no effect when the program runs, or only on what people read. */
const PASSED_OVER = /^(ImportDeclaration|ExportAllDeclaration|ThrowStatement|TemplateLiteral)$/;

/** TypeScript's nodes around an expression that runs. */
const WRAPPERS = /^TS(AsExpression|SatisfiesExpression|NonNullExpression)$/;

/**
 * Every mutation of a source file: a condition negated, an operator swapped for its neighbor, a statement dropped, a constant changed, a
 * function that does nothing. Types, imports and the words of errors stay as they are.
 */
export function mutationsOf(source: string): Mutation[] {
  const found: Mutation[] = [];
  walk(parseAst(source, { lang: 'ts' }), (node) => found.push(...mutationsAt(node, source)));
  return found;
}

/** The file with one mutation. */
export function mutate(source: string, { start, end, replacement }: Mutation): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

function mutationsAt(node: SyntaxNode, source: string): Mutation[] {
  const replace = (kind: Mutation['kind'], { start, end }: SyntaxNode, replacement: string): Mutation[] => [
    { kind, start, end, replacement },
  ];
  const textOf = ({ start, end }: SyntaxNode) => source.slice(start, end);
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression': {
      const test = childOf(node, 'test');
      return test ? replace('condition', test, `!(${textOf(test)})`) : [];
    }
    case 'LogicalExpression':
    case 'BinaryExpression': {
      const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
      const other = OPERATORS[String(node['operator'])];
      if (!left || !right || other === undefined) return [];
      return replace('operator', node, `(${textOf(left)}) ${other} (${textOf(right)})`);
    }
    case 'ExpressionStatement':
      return node['directive'] ? [] : replace('statement', node, ';');
    case 'Literal':
      return constantAt(node).flatMap((other) => replace('constant', node, other));
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression': {
      const body = childOf(node, 'body');
      const isEmpty = !body || !Array.isArray(body['body']) || body['body'].length === 0;
      return isEmpty ? [] : replace('body', body, '{}');
    }
    default:
      return [];
  }
}

/** Another value of the same kind; nothing for null, for patterns, and for a text of one word, which is mostly a name. */
function constantAt({ value }: SyntaxNode): string[] {
  if (typeof value === 'boolean') return [String(!value)];
  if (typeof value === 'number') return [String(value + 1)];
  return [];
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

function childOf(node: SyntaxNode, field: string): SyntaxNode | undefined {
  const child = node[field];
  return isNode(child) ? child : undefined;
}

function walk(value: unknown, visit: (node: SyntaxNode) => void): void {
  if (Array.isArray(value)) {
    for (const each of value) walk(each, visit);
    return;
  }
  if (!isNode(value) || PASSED_OVER.test(value.type)) return;
  if (WRAPPERS.test(value.type)) {
    walk(value['expression'], visit);
    return;
  }
  if (value.type.startsWith('TS')) return;
  visit(value);
  for (const child of Object.values(value)) walk(child, visit);
}
