import { decodeUtf8, type Http, type Log, Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Acceptance } from '../model/notification/notification.ts'
import { maxEventBytes } from '../request/notify-body.ts'
import { formatFaults, readRequest } from '../request/read-request.ts'
import type { Accept, AcceptResult } from './accept.ts'
import { auditBulk, auditBulkResult, type SendContext } from './audited.ts'
import { maxBulkEvents, ndjson } from './schema.ts'

/** The largest body of a bulk request, in bytes. */
export const bulkLimitBytes = 32 * 1024 * 1024

/** Events of one bulk request that are accepted at the same time, so that single requests find room beside it. */
const maxConcurrent = 1_000

/** Reads bodies of newline-delimited JSON line by line: a line that can't be read fails alone. */
export function addNdjsonParser(http: Http): void {
  http.addContentTypeParser(ndjson, { parseAs: 'buffer', bodyLimit: bulkLimitBytes }, (_request, body, done) =>
    done(null, linesOf(Buffer.from(body))),
  )
}

/**
 * POST /v1/notify/bulk: up to 10,000 events as a JSON array or as newline-delimited JSON. The response has one line of
 * JSON for each event, in order: `status` 202 with the acceptance, or another status with the problem.
 */
export function submitEvents(context: SendContext & { readonly accept: Accept; readonly log: Log }) {
  const { accept } = context
  return async (request: FastifyRequest<{ Body: unknown[] }>, reply: FastifyReply) => {
    await auditBulk(context, request, request.body)
    const results: Array<Acceptance | Problem> = []
    // Lines were measured as they were read.
    const isList = !request.headers['content-type']?.startsWith(ndjson)
    const maxBytes = isList ? maxEventBytes : bulkLimitBytes
    for (let at = 0; at < request.body.length; at += maxConcurrent) {
      const part = request.body.slice(at, at + maxConcurrent)
      results.push(...(await Promise.all(part.map((value) => acceptLine(value, maxBytes, accept)))))
    }
    const ids = results.flatMap((result) => (result instanceof Problem ? [] : [result.id]))
    await auditBulkResult(context, request, { ids, refused: results.length - ids.length })
    return reply.type(ndjson).send(`${results.map(formatLine).join('\n')}\n`)
  }
}

/** A line that holds no event, with the answer to it. */
class Unreadable {
  readonly problem: Problem

  constructor(problem: Problem) {
    this.problem = problem
  }
}

/**
 * The lines of an NDJSON body that are not blank, each read by itself: no more than are needed to see that they are too
 * many.
 */
function linesOf(body: Buffer): unknown[] {
  const lines: unknown[] = []
  for (let begin = skipSpace(body, 0); begin < body.length && lines.length <= maxBulkEvents; ) {
    const found = body.indexOf(newline, begin)
    const end = found < 0 ? body.length : found
    lines.push(readLine(body.subarray(begin, end)))
    begin = skipSpace(body, end)
  }
  return lines
}

const newline = 10
/** Of JSON: a tab, the two ends of a line, a space. */
const isSpace = (byte: number | undefined) => byte === 9 || byte === newline || byte === 13 || byte === 32

function skipSpace(body: Buffer, from: number): number {
  let at = from
  while (isSpace(body[at])) at++
  return at
}

function readLine(bytes: Buffer): unknown {
  if (bytes.length > maxEventBytes) return new Unreadable(tooLarge())
  const line = decodeUtf8(bytes)
  if (line === undefined) return new Unreadable(new Problem(400, 'The line is not UTF-8.'))
  try {
    return JSON.parse(line)
  } catch (error) {
    return new Unreadable(new Problem(400, `The line is not JSON: ${(error as Error).message}`))
  }
}

function tooLarge(): Problem {
  return new Problem(413, `The event is larger than the ${maxEventBytes} bytes allowed here.`)
}

async function acceptLine(value: unknown, maxBytes: number, accept: Accept): Promise<Acceptance | Problem> {
  if (value instanceof Unreadable) return value.problem
  const request = readRequest(value)
  if (!('event' in request))
    return new Problem(400, `The event is not valid: ${formatFaults(request)}.`, { errors: request })
  if (maxBytes < bulkLimitBytes && Buffer.byteLength(JSON.stringify(request)) > maxBytes) return tooLarge()
  const result = await accept.one({ request, source: 'bulk' }).catch((error: unknown) => problemOfError(error))
  if ('accepted' in result) return result.accepted
  return 'refused' in result ? result.refused : new Problem(409, 'Another request accepted the event.')
}

function formatLine(result: Acceptance | Problem): string {
  return result instanceof Problem ? problemLine(result) : JSON.stringify({ status: 202, ...result })
}

/** An error is the answer to its own event only: the others are committed already. */
function problemOfError(error: unknown): AcceptResult {
  if (error instanceof Problem) return { refused: error }
  return {
    refused: new Problem(500, 'The event could not be stored; send it again with the same dedup_key.', {
      cause: error,
    }),
  }
}

/** A line has no header fields of its own: the wait stands among its members. */
function problemLine(problem: Problem): string {
  const after = problem.headers['retry-after']
  return JSON.stringify({ ...problem.body(), ...(after === undefined ? {} : { retry_after: Number(after) }) })
}
