/** A fault of one member of a request. */
export interface Fault {
  readonly pointer: string
  readonly detail: string
}

interface ProblemBody {
  readonly type?: string
  readonly title?: string
  readonly detail?: string
  readonly request_id?: string
  readonly errors?: readonly Fault[]
  readonly service?: string
}

/** A refused call (RFC 9457). */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** Which kind of problem: the type without its prefix; empty for a common one. */
  readonly kind: string
  readonly title: string
  readonly requestId: string | undefined
  /** How long to wait before the next call, in seconds. */
  readonly retryAfter: number | undefined
  readonly faults: readonly Fault[]
  /** The service that did not answer. */
  readonly service: string | undefined

  constructor(status: number, body: ProblemBody, headers: Headers) {
    super(body.detail ?? `HTTP ${status}`)
    this.status = status
    this.kind = body.type?.startsWith(prefix) ? body.type.slice(prefix.length) : ''
    this.title = body.title ?? `HTTP ${status}`
    this.requestId = body.request_id ?? headers.get('x-request-id') ?? undefined
    this.retryAfter = Number(headers.get('retry-after')) || undefined
    this.faults = body.errors ?? []
    this.service = body.service
  }
}

const prefix = 'urn:gatehouse:console:'

/** The error of an answer. */
export async function readProblem(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as ProblemBody
  return new ApiError(response.status, body, response.headers)
}
