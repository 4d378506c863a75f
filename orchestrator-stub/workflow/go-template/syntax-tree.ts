/** What the parser makes of a template. Every node knows where it stands. */
export type Statement =
  | { kind: 'text'; text: string }
  | { kind: 'action'; pipe: Pipe }
  | { kind: 'if' | 'with'; pipe: Pipe; body: Statement[]; otherwise: Statement[] }
  | { kind: 'range'; pipe: Pipe; body: Statement[]; otherwise: Statement[] }
  | { kind: 'template'; name: string; pipe: Pipe | undefined; offset: number }
  | { kind: 'break' | 'continue' };

export interface Pipe {
  /** `$x := …`, `$i, $e := …` */
  variables: string[];
  isAssignment: boolean;
  commands: Command[];
  offset: number;
  /** As written, for messages. */
  text: string;
}

export interface Command {
  operands: Operand[];
  offset: number;
  text: string;
}

export type Operand = { offset: number; text: string } & (
  | { kind: 'dot' }
  | { kind: 'nil' }
  | { kind: 'literal'; value: string | boolean }
  | { kind: 'number'; int?: bigint; float?: number; isFloat: boolean }
  | { kind: 'fields'; names: string[] }
  | { kind: 'variable'; name: string; names: string[] }
  | { kind: 'function'; name: string }
  | { kind: 'pipe'; pipe: Pipe; names: string[] }
);

export interface ParsedTemplate {
  body: Statement[];
  /** Bodies of `define` and `block`. */
  defined: Map<string, Statement[]>;
}
