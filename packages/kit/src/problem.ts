/** One fault of a request: where (a JSON pointer into that part of the request) and what was expected there. */
export interface Fault {
  readonly pointer: string
  readonly detail: string
}

/** Members of a {@link Problem} beside its status and detail. */
export interface ProblemOptions {
  readonly type?: string
  readonly title?: string
  readonly errors?: readonly Fault[]
  readonly headers?: Readonly<Record<string, string>>
  /** Further members of the body. */
  readonly members?: Readonly<Record<string, unknown>>
  /** What only the operator may see; it is logged, never sent. */
  readonly cause?: unknown
}

const titles: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

/**
 * An error response as problem details (RFC 9457). Routes throw it; the error handler of `createHttp` writes it.
 *
 * @example
 * throw new Problem(404, 'There is no such note.')
 */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly #options: ProblemOptions

  constructor(status: number, detail: string, options: ProblemOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.status = status
    this.headers = options.headers ?? {}
    this.#options = options
  }

  /** What kind of problem it is, in words; without a type of its own, the phrase of the status. */
  get title(): string {
    return this.#options.title ?? titles[this.status] ?? 'Error'
  }

  /** The body of the answer (RFC 9457 §3.1). */
  body(): Record<string, unknown> {
    const { type, errors, members } = this.#options
    return {
      type: type ?? 'about:blank',
      title: this.title,
      status: this.status,
      detail: this.message,
      ...(errors ? { errors } : {}),
      ...members,
    }
  }
}
