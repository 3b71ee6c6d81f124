/** Something that an operator should know of a running service. */
export interface Finding {
  /** Which it is, from a closed set of lower-case words with underscores. */
  readonly code: string
  readonly severity: 'error' | 'warning' | 'info'
  /** What it is about, such as a provider; never a person. */
  readonly subject?: string
  /** Since when, in Unix milliseconds, where that is known. */
  readonly since?: number
  readonly count?: number
}

/** A step of the setup of an installation: whether it is done, by facts. */
export interface SetupStep {
  readonly id: string
  readonly done: boolean
  /** What shows it. Nothing personal. */
  readonly evidence: Readonly<Record<string, string | number | boolean | readonly string[]>>
}
