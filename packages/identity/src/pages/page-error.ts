/** Something a person at a page must be told; `text` is the key of the words. */
export class PageError extends Error {
  override readonly name = 'PageError'
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, text: string, headers: Readonly<Record<string, string>> = {}) {
    super(text)
    this.status = status
    this.text = text
    this.headers = headers
  }
}
