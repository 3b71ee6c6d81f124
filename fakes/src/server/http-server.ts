import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type Behaviour, createScript, type Fake } from '../fake.ts'

/** A request as a fake sees it, read whole. */
export interface FakeRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

export interface FakeAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** An object is answered as JSON. */
  readonly body?: unknown
}

/** What a fake makes of a request: a message that is all right, one that it refuses, or something beside the messages. */
export type Seen<Received> =
  | { readonly kind: 'message'; readonly message: Received; readonly answer: FakeAnswer }
  | { readonly kind: 'refused'; readonly why: string; readonly answer: FakeAnswer }
  | { readonly kind: 'aside'; readonly answer: FakeAnswer; readonly behaviour?: Behaviour | undefined }

export interface HttpFakeOptions<Received> {
  readonly kind: string
  /** Default: a free one. */
  readonly port?: number
  /** Speaks HTTP/2, without TLS, and nothing else. */
  readonly http2?: boolean
  /** `taken` are the messages it took before. */
  see(request: FakeRequest, accepted: readonly Received[]): Seen<Received>
  /** The answer when the address or the device is no more. */
  readonly gone: FakeAnswer
  /** The body of an answer that is told to have a status, where the behaviour brings none. */
  troubled?(status: number): unknown
}

const maxBytes = 1024 * 1024

export interface HttpFake<Received> extends Fake<Received> {
  /** Connections that were made so far. */
  connections(): number
}

/** A fake that speaks HTTP/1.1, or HTTP/2, on this machine. What it is told to answer counts for messages that are all right. */
export async function startHttpFake<Received>(options: HttpFakeOptions<Received>): Promise<HttpFake<Received>> {
  const requests: Received[] = []
  const refusals: string[] = []
  const script = createScript()
  const handle = async (incoming: Incoming, outgoing: Outgoing) => {
    const request = await read(incoming)
    const seen = request ? options.see(request, requests) : tooLong
    if (seen.kind === 'refused') refusals.push(seen.why)
    const behaviour = seen.kind === 'message' ? script.next() : seen.kind === 'aside' ? seen.behaviour : undefined
    if (seen.kind === 'message' && (behaviour === undefined || behaviour === 'drop')) requests.push(seen.message)
    if (behaviour === 'hang') return
    if (behaviour === 'drop') cut(outgoing)
    else write(outgoing, answerTo(behaviour, seen.answer, options))
  }
  const { server, endAll } = options.http2 ? http2Server(handle) : httpServer(handle)
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  server.listen(options.port ?? 0, '127.0.0.1')
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return {
    kind: options.kind,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refusals,
    answerNext: (behaviour, times) => script.enqueue(behaviour, times),
    connections: () => connections,
    stop() {
      endAll()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

type Incoming = IncomingMessage | Http2ServerRequest
type Outgoing = ServerResponse | Http2ServerResponse
type Handle = (incoming: Incoming, outgoing: Outgoing) => Promise<void>

function httpServer(handle: Handle) {
  const server = createServer(handle)
  return { server, endAll: () => server.closeAllConnections() }
}

function http2Server(handle: Handle) {
  const sessions = new Set<ServerHttp2Session>()
  const server = createHttp2Server((incoming, outgoing) => {
    incoming.stream.on('error', () => {})
    void handle(incoming, outgoing)
  })
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => {}).on('close', () => sessions.delete(session))
  })
  return {
    server,
    endAll() {
      for (const session of sessions) session.destroy()
    },
  }
}

function cut(outgoing: Outgoing): void {
  if ('stream' in outgoing) outgoing.stream.session?.destroy()
  else outgoing.destroy()
}

const tooLong = { kind: 'refused', why: 'the body is too long', answer: { status: 413 } } as const

/** What is answered, whatever is told. */
export function answerTo(
  behaviour: Exclude<Behaviour, 'hang' | 'drop'> | undefined,
  usual: FakeAnswer,
  { gone, troubled }: Pick<HttpFakeOptions<never>, 'gone' | 'troubled'>,
): FakeAnswer {
  if (behaviour === undefined) return usual
  if (behaviour === 'gone') return gone
  const { status, retryAfter, body = troubled?.(status) } = behaviour
  return { status, body, ...(retryAfter === undefined ? {} : { headers: { 'retry-after': String(retryAfter) } }) }
}

async function read(incoming: Incoming): Promise<FakeRequest | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming) {
    bytes += (chunk as Buffer).length
    if (bytes > maxBytes) return undefined
    chunks.push(chunk as Buffer)
  }
  const url = new URL(incoming.url ?? '/', 'http://fake')
  return {
    method: incoming.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: incoming.headers as Record<string, string | undefined>,
    body: Buffer.concat(chunks),
  }
}

function write(outgoing: Outgoing, { status, headers = {}, body }: FakeAnswer): void {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  outgoing.statusCode = status
  if (typeof body === 'object') outgoing.setHeader('content-type', 'application/json; charset=utf-8')
  for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value)
  outgoing.end(text)
}
