/** The program cannot start for a reason that its operator can fix. It is printed as one line without a stack trace. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
