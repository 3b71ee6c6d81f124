import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Behaviour, createScript, type Fake } from './fake.ts'

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
  /** `taken` are the messages it took before. */
  see(request: FakeRequest, taken: readonly Received[]): Seen<Received>
  /** The answer when the address or the device is no more. */
  readonly gone: FakeAnswer
  /** The body of an answer that is told to have a status, where the behaviour brings none. */
  troubled?(status: number): unknown
}

const mostBytes = 1024 * 1024

/** A fake that speaks HTTP/1.1 on this machine. What it is told to answer counts for messages that are all right. */
export async function startHttpFake<Received>(options: HttpFakeOptions<Received>): Promise<Fake<Received>> {
  const requests: Received[] = []
  const refusals: string[] = []
  const script = createScript()
  const server = createServer(async (incoming, outgoing) => {
    const request = await read(incoming)
    const seen = request ? options.see(request, requests) : tooLong
    if (seen.kind === 'refused') refusals.push(seen.why)
    const behaviour = seen.kind === 'message' ? script.next() : seen.kind === 'aside' ? seen.behaviour : undefined
    if (seen.kind === 'message' && (behaviour === undefined || behaviour === 'drop')) requests.push(seen.message)
    if (behaviour === 'hang') return
    if (behaviour === 'drop') outgoing.destroy()
    else write(outgoing, answerTo(behaviour, seen.answer, options))
  })
  server.listen(options.port ?? 0, '127.0.0.1')
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return {
    kind: options.kind,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refusals,
    answerNext: (behaviour, times) => script.tell(behaviour, times),
    stop() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
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

async function read(incoming: IncomingMessage): Promise<FakeRequest | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming) {
    bytes += (chunk as Buffer).length
    if (bytes > mostBytes) return undefined
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

function write(outgoing: ServerResponse, { status, headers = {}, body }: FakeAnswer): void {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  outgoing.writeHead(status, {
    ...(typeof body === 'object' ? { 'content-type': 'application/json; charset=utf-8' } : {}),
    ...headers,
  })
  outgoing.end(text)
}
