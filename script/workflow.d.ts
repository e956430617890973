// Types of what a workflow script sees. Put this file beside your scripts, or
// name it in the "types" of a jsconfig.json.

/** A JSON value. */
type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON Schema (2020-12) whose root is an object. */
type ObjectSchema = { type: "object"; [keyword: string]: unknown };

interface AgentOptions {
  /** Shown for this agent. It does not count for reuse. */
  label?: string;
  /** The group that the agent belongs to; otherwise that of the last phase(). */
  phase?: string;
  /** The agent must give a value that fits; it is asked again a few times. */
  schema?: ObjectSchema;
  model?: string;
  effort?: "low" | "medium" | "high" | "xhigh" | "max";
  /** A named agent of the project. */
  agentType?: string;
  /** Work in a git worktree of its own, which is kept when it has changes. */
  isolation?: "worktree";
  /** Milliseconds, or a text such as "15m". */
  timeout?: number | string;
  /** Names of the tools that the agent may use. */
  tools?: string[];
  limits?: { maxTokens?: number; maxCostUsd?: number; maxTurns?: number; maxSpawns?: number; maxDepth?: number };
  workspace?: string;
  /** The run is as good without this agent: it may die and the run still succeeds. */
  optional?: boolean;
}

/**
 * Runs an agent and gives its last text, or the value of its schema. Null when
 * the agent was skipped or died. Throws for options that are not understood, when
 * a limit is reached, and when no answer fits the schema.
 */
declare function agent(prompt: string, opts?: AgentOptions & { schema?: undefined }): Promise<string | null>;
declare function agent<T = any>(prompt: string, opts: AgentOptions & { schema: ObjectSchema }): Promise<T | null>;

/** Runs all at once and waits for all. What throws is null at its place. */
declare function parallel<T>(thunks: ReadonlyArray<() => T | Promise<T>>): Promise<(T | null)[]>;

/** Leads each item through the stages, on its own. What throws is null at its place. */
declare function pipeline<I, A>(items: readonly I[], a: (prev: I, item: I, index: number) => A | Promise<A>): Promise<(A | null)[]>;
declare function pipeline<I, A, B>(items: readonly I[], a: (prev: I, item: I, index: number) => A | Promise<A>, b: (prev: A, item: I, index: number) => B | Promise<B>): Promise<(B | null)[]>;
declare function pipeline<I>(items: readonly I[], ...stages: ((prev: any, item: I, index: number) => any)[]): Promise<any[]>;

/** Later agents belong to this group. */
declare function phase(title: string): void;

/** A line for the person who watches. */
declare function log(...message: unknown[]): void;

/** What the run was started with; undefined when that was nothing. */
declare const args: any;

/** Tokens of the run. */
declare const budget: {
  /** Null when there is no target. */
  readonly total: number | null;
  spent(): number;
  /** Infinity when there is no target. */
  remaining(): number;
};

/** Runs another workflow in this run, one level deep. */
declare function workflow(nameOrRef: string | { scriptPath: string }, args?: unknown): Promise<any>;

/** Asks a person and waits, for days if need be. Not known to other hosts. */
declare function ask(question: string, opts?: { schema?: object; options?: string[]; timeout?: string }): Promise<any>;

/** Runs a command of the host, with a receipt. Not known to other hosts. */
declare function shell(argv: string[], opts?: { cwd?: string; timeout?: number | string; env?: Record<string, string>; stdin?: string; effect?: "read" | "write" }): Promise<{ exitCode: number; stdout: string; stderr: string; [more: string]: unknown }>;

/** Runs checks of the host ("configured" is the project's plan). Not known to other hosts. */
declare function verify(checks?: "configured" | object[]): Promise<any>;

/** Keeps a versioned artifact: in the collection of the run, or in one of the project. Not known to other hosts. */
declare function artifact(id: string, opts: { title?: string; mime?: string; language?: string; content: unknown; collection?: string }): Promise<any>;
