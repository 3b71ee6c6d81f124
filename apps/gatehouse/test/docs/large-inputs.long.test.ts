import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { ApiDocument } from '../../src/docs/document.ts'
import { startWithEveryScope, tokenOf } from '../support/every-scope.ts'
import { largeBodies, largeTexts } from '../support/large-inputs.ts'
import type { Program } from '../support/program.ts'

/** Whoever gets no answer in this time waits for something else than work. */
const maxMs = 30_000
/** The most work of one request, in seconds of the processor: it holds up everybody else. What is linear takes a tenth. */
const maxWorkSeconds = 2
/** The most that headers may have, less the others. */
const headBytes = 14_000
/** Streams have no end, and a change of the keys none that the test would outlive. */
const left = /stream|\/live|signing-keys\/rotate/
const parameters: Readonly<Record<string, string>> = { channel: 'email', locale: 'en', event: 'a.b', service: 'notify' }

interface Operation {
  readonly method: string
  readonly path: string
  readonly queries: readonly string[]
  readonly bodies: readonly (readonly [type: string, schema: object])[]
}

describe('no input holds the process up or is answered with an error of its own', { timeout: 20 * 60_000 }, () => {
  let program: Program | undefined
  let document: ApiDocument
  let token: string
  before(async () => {
    program = await startWithEveryScope(['first'], { LOG_LEVEL: 'fatal' })
    document = (await (await fetch(`${program.url}/openapi.json`)).json()) as ApiDocument
    token = await tokenOf(program.url, 'first')
  })
  after(() => program?.stop('SIGKILL'))

  /** Fails when a request is not answered in time, or with 500. */
  async function send(what: string, request: SentRequest): Promise<void> {
    const { hostname, port } = new URL(program?.url ?? '')
    const headers = { authorization: `Bearer ${token}`, ...request.headers }
    const before = workOf(program)
    const status = await statusOf({ hostname, port }, { ...request, headers }).catch((error: Error) =>
      assert.fail(`${what}: ${error.message}`),
    )
    assert.notEqual(status, 500, what)
    const seconds = workOf(program) - before
    assert.ok(seconds < maxWorkSeconds, `${seconds} s of work for ${what}`)
  }

  test('in the body of an operation', async () => {
    for (const { method, path, bodies } of operationsOf(document))
      for (const [type, schema] of bodies.filter(([each]) => each.endsWith('json')))
        for (const { what, json } of largeBodies(document, schema))
          await send(`${method} ${path}: ${what}, ${json.slice(0, 200)}`, {
            method,
            path,
            headers: { 'content-type': type },
            body: json,
          })
  })

  test('in the query of an operation', async () => {
    const texts = largeTexts(headBytes / 3).map((text) => encodeURIComponent(text).slice(0, headBytes))
    const raw = [...texts.map((text) => text.replace(/%.?$/, '')), `${'%aa'.repeat(headBytes / 4)}"`]
    for (const { method, path, queries } of operationsOf(document))
      for (const name of queries)
        for (const text of raw)
          await send(`${method} ${path}?${name}=${text.slice(0, 30)}`, { method, path: `${path}?${name}=${text}` })
  })

  test('in a header', async () => {
    const names = ['accept', 'accept-language', 'authorization', 'cookie', 'forwarded', 'if-match', 'if-none-match']
    const others = ['origin', 'prefer', 'range', 'traceparent', 'user-agent', 'x-forwarded-for', 'x-request-id']
    const texts = largeTexts(headBytes).filter((text) => /^[\t\x20-\x7e]*$/.test(text))
    for (const name of [...names, ...others])
      for (const path of ['/', '/authorize?client_id=first', '/v1/notifications', '/console/', '/admin/v1/users'])
        for (const text of texts)
          await send(`${name} of ${path}: ${text.slice(0, 30)}`, { method: 'GET', path, headers: { [name]: text } })
  })
})

/** The work of a program so far, in seconds of the processor; always 0 where the system does not tell. */
function workOf(program: Program | undefined): number {
  const file = `/proc/${program?.process.pid}/stat`
  if (!existsSync(file)) return 0
  const [user, system] = readFileSync(file, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .slice(11, 13)
  return (Number(user) + Number(system)) / ticksPerSecond
}

const ticksPerSecond = 100

/** What the document says of each operation but those that remove something, with values in its path. */
function operationsOf(document: ApiDocument): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([template, item]) => {
    if (left.test(template)) return []
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? 'abc')
    return Object.entries(item as Record<string, DocumentedOperation>)
      .filter(([method, { responses }]) => responses !== undefined && method !== 'delete')
      .map(([method, { parameters: declared = [], requestBody }]) => ({
        method: method.toUpperCase(),
        path,
        queries: declared.filter((each) => each.in === 'query').map(({ name }) => name),
        bodies: Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => [type, schema] as const),
      }))
  })
}

interface DocumentedOperation {
  readonly responses?: object
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema: object }>> }
}

interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends a target as it is, as no `fetch` does. @throws Error when there is no answer in time */
function statusOf(to: { hostname: string; port: string }, { body, ...request }: SentRequest): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const sent = httpRequest({ ...to, ...request, signal: AbortSignal.timeout(maxMs) }, (response) => {
    response
      .on('error', reject)
      .on('end', () => resolve(response.statusCode ?? 0))
      .resume()
  })
  sent.on('error', reject).end(body)
  return promise
}
