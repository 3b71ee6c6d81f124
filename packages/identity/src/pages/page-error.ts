/** Where a person may go from a page that has nothing else to do. */
export interface NextStep {
  readonly href: string
  /** The key of the link's words. */
  readonly text: string
}

export const signInNext: NextStep = { href: '/account', text: 'login.submit' }

/** Something a person at a page must be told; `text` is the key of the words. */
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
