/** A link to the next page. */
export interface NextStep {
  readonly href: string
  /** The key of the link's text. */
  readonly text: string
}

/** The link to the sign-in. */
export const signInNext: NextStep = { href: '/account', text: 'login.submit' }

/** An error that is shown on a page; `text` is the key of its text. */
export class PageError extends Error {
  override readonly name = 'PageError'
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  readonly next: NextStep | undefined

  constructor(status: number, text: string, headers: Readonly<Record<string, string>> = {}, next?: NextStep) {
    super(text)
    this.status = status
    this.text = text
    this.headers = headers
    this.next = next
  }
}
