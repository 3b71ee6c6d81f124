import { type Http, Problem } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { Guards } from '../caller.ts'
import { readRequest, tellFaults } from '../read-request.ts'
import type { Accept, AcceptResult } from './accept.ts'

const bodyLimitBytes = 32 * 1024 * 1024
const mostEvents = 10_000
/** Events of one bulk request under way at once, so that single requests find room beside it. */
const mostUnderWay = 1_000

/**
 * POST /v1/notify/bulk: up to 10,000 events as a JSON array or as lines of JSON (application/x-ndjson), answered in
 * order, one line of JSON each: `status` 202 with the acceptance, or another status with the problem. Extension.
 */
export async function bulkEndpoint(http: Http, guards: Guards, accept: Accept): Promise<void> {
  http.addContentTypeParser(
    'application/x-ndjson',
    { parseAs: 'string', bodyLimit: bodyLimitBytes },
    (_request, text, done) => done(null, linesOf(String(text))),
  )
  http.post(
    '/v1/notify/bulk',
    {
      bodyLimit: bodyLimitBytes,
      config: { judgesBody: true },
      onRequest: guards.write,
      schema: {
        tags: ['notifications'],
        summary: 'Tell of up to 10,000 events at once; one line of the answer for each',
        security: [{ bearer: [guards.scopes.write] }],
        consumes: ['application/json', 'application/x-ndjson'],
        body: Type.Array(Type.Unknown(), { minItems: 1, maxItems: mostEvents }),
      },
    },
    async (request, reply) => {
      const answers: string[] = []
      for (let at = 0; at < request.body.length; at += mostUnderWay) {
        const part = request.body.slice(at, at + mostUnderWay)
        answers.push(...(await Promise.all(part.map((value) => answerOne(value, accept)))))
      }
      return reply.type('application/x-ndjson').send(`${answers.join('\n')}\n`)
    },
  )
}

/** The lines of an NDJSON body; one that is no JSON stands as itself and is refused in its own answer. */
function linesOf(text: string): unknown[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line) => {
    try {
      return JSON.parse(line)
    } catch {
      return line
    }
  })
}

async function answerOne(value: unknown, accept: Accept): Promise<string> {
  const request = readRequest(value)
  if (!('event' in request))
    return problemLine(new Problem(400, `The event is not valid: ${tellFaults(request)}.`, { errors: request }))
  const result = await accept.one({ request, source: 'bulk' }).catch((error: unknown) => failed(error))
  if ('accepted' in result) return JSON.stringify({ status: 202, ...result.accepted })
  return problemLine('refused' in result ? result.refused : new Problem(409, 'The event was taken by another.'))
}

/** Trouble with one event is that event's answer; the others are committed already. */
function failed(error: unknown): AcceptResult {
  if (error instanceof Problem) return { refused: error }
  return {
    refused: new Problem(500, 'The event could not be stored; send it again with the same dedup_key.', {
      cause: error,
    }),
  }
}

function problemLine(problem: Problem): string {
  return JSON.stringify(problem.body())
}
