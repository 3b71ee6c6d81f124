/** The program can't start, for a reason its operator can mend: shown as one line, without a stack trace. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
