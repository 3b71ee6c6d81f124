import { decodeUtf8, type Http, Problem } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { AccessControl } from '../request/caller.ts'
import { maxEventBytes } from '../request/notify-body.ts'
import { operation } from '../request/operations.ts'
import { formatFaults, readRequest } from '../request/read-request.ts'
import type { Accept, AcceptResult } from './accept.ts'

const bodyLimitBytes = 32 * 1024 * 1024
const maxEvents = 10_000
const linesType = 'application/x-ndjson'
const lines = {
  description: 'One line for each event, in order.',
  content: { [linesType]: { schema: Type.String() } },
}
/** Events of one bulk request under way at once, so that single requests find room beside it. */
const maxConcurrent = 1_000

/**
 * POST /v1/notify/bulk: up to 10,000 events as a JSON array or as lines of JSON (application/x-ndjson), answered in
 * order, one line of JSON each: `status` 202 with the acceptance, or another status with the problem. Extension.
 */
export async function bulkEndpoint(http: Http, access: AccessControl, accept: Accept): Promise<void> {
  http.addContentTypeParser(linesType, { parseAs: 'buffer', bodyLimit: bodyLimitBytes }, (_request, body, done) =>
    done(null, linesOf(Buffer.from(body))),
  )
  http.post(
    '/v1/notify/bulk',
    {
      bodyLimit: bodyLimitBytes,
      config: { judgesBody: true },
      onRequest: access.allow('produce'),
      schema: {
        tags: ['notifications'],
        ...operation('notifications.sendBulk'),
        security: access.security('produce'),
        consumes: ['application/json', linesType],
        body: Type.Array(Type.Unknown({ description: 'An event, as `notifications.send` takes it.' }), {
          minItems: 1,
          maxItems: maxEvents,
        }),
        response: { 200: lines } as object,
      },
    },
    async (request, reply) => {
      const answers: string[] = []
      // lines were measured when they were read
      const isList = !request.headers['content-type']?.startsWith(linesType)
      const maxBytes = isList ? maxEventBytes : bodyLimitBytes
      for (let at = 0; at < request.body.length; at += maxConcurrent) {
        const part = request.body.slice(at, at + maxConcurrent)
        answers.push(...(await Promise.all(part.map((value) => acceptLine(value, maxBytes, accept)))))
      }
      return reply.type(linesType).send(`${answers.join('\n')}\n`)
    },
  )
}

/** A line that holds no event, with the answer to it. */
class Unreadable {
  readonly problem: Problem

  constructor(problem: Problem) {
    this.problem = problem
  }
}

/** The lines of an NDJSON body that are not blank, each read by itself. */
function linesOf(body: Buffer): unknown[] {
  const text = decodeUtf8(body)
  if (text !== undefined) return text.split('\n').filter(isFilled).map(readLine)
  return splitLines(body)
    .map(decodeUtf8)
    .filter((line) => line === undefined || isFilled(line))
    .map((line) => (line === undefined ? new Unreadable(new Problem(400, 'The line is not UTF-8.')) : readLine(line)))
}

const isFilled = (line: string) => line.trim() !== ''

function splitLines(body: Buffer): Buffer[] {
  const lines: Buffer[] = []
  let begin = 0
  for (let end = body.indexOf(10); end >= 0; end = body.indexOf(10, begin)) {
    lines.push(body.subarray(begin, end))
    begin = end + 1
  }
  return [...lines, body.subarray(begin)]
}

function readLine(line: string): unknown {
  if (line.length * 3 > maxEventBytes && Buffer.byteLength(line) > maxEventBytes) return new Unreadable(tooLarge())
  try {
    return JSON.parse(line)
  } catch (error) {
    return new Unreadable(new Problem(400, `The line is not JSON: ${(error as Error).message}`))
  }
}

function tooLarge(): Problem {
  return new Problem(413, `The event is larger than the ${maxEventBytes} bytes allowed here.`)
}

async function acceptLine(value: unknown, maxBytes: number, accept: Accept): Promise<string> {
  if (value instanceof Unreadable) return problemLine(value.problem)
  const request = readRequest(value)
  if (!('event' in request))
    return problemLine(new Problem(400, `The event is not valid: ${formatFaults(request)}.`, { errors: request }))
  if (maxBytes < bodyLimitBytes && Buffer.byteLength(JSON.stringify(request)) > maxBytes) return problemLine(tooLarge())
  const result = await accept.one({ request, source: 'bulk' }).catch((error: unknown) => problemOfError(error))
  if ('accepted' in result) return JSON.stringify({ status: 202, ...result.accepted })
  return problemLine('refused' in result ? result.refused : new Problem(409, 'The event was taken by another.'))
}

/** Trouble with one event is that event's answer; the others are committed already. */
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
