/** Options of a {@link StartError}. */
export interface StartErrorOptions extends ErrorOptions {
  readonly isTemporary?: boolean
}

/** The program cannot start for a reason that its operator can fix. It is printed as one line without a stack trace. */
export class StartError extends Error {
  override readonly name = 'StartError'
  /** Whether a later start may succeed with the same settings; undefined where only the cause may tell. */
  readonly isTemporary: boolean | undefined

  constructor(message: string, options?: StartErrorOptions) {
    super(message, options)
    this.isTemporary = options?.isTemporary
  }
}
