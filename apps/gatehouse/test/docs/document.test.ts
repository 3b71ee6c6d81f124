import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gatewayOperations } from '@gatehouse/gateway'
import { identityOperations } from '@gatehouse/identity'
import { notifyOperations } from '@gatehouse/notify'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { Document } from '../../../../scripts/client/document.ts'
import { generatedFiles } from '../../../../scripts/client/generated-files.ts'
import type { ApiDocument } from '../../src/docs/document.ts'
import { repeatableIds, unrepeatableIds } from '../../src/docs/idempotent.ts'
import { operation } from '../../src/docs/operations.ts'
import { createJoining } from '../../src/docs/siblings.ts'
import { type Program, started } from '../support/program.ts'

type Operation = NonNullable<ApiDocument['paths']>[string][string]

const secret = 'a-secret-of-the-test-alone-0123456789'
const roomy = `
clients:
  - client_id: tester
    client_secret: ${secret}
    grant_types: [client_credentials]
    scopes: [write:notifications, read:notifications, write:preferences, read:users, read:revocations, read:api-keys,
      admin:notifications, admin:clients, admin:users, admin:api-keys, admin:keys, admin:audit, admin:limits,
      admin:privacy]
tiers: { free: { rpm: 1000000 } }
policies: { anonymous: { rpm: 1000000 }, identity: { rpm: 1000000 } }
`

describe('the OpenAPI document of a running program', () => {
  let program: Program
  let document: ApiDocument
  let authorization: string
  const folder = mkdtempSync(join(tmpdir(), 'api-document-'))

  before(async () => {
    const file = join(folder, 'gatehouse.yaml')
    writeFileSync(file, roomy)
    program = await started({ env: { GATEHOUSE_CONFIG: file } })
    document = (await (await fetch(`${program.url}/openapi.json`)).json()) as ApiDocument
    const answer = await fetch(`${program.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`tester:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    authorization = `Bearer ${((await answer.json()) as { access_token: string }).access_token}`
  })
  after(async () => {
    await program.stop()
    rmSync(folder, { recursive: true })
  })

  const operations = (): Array<[method: string, path: string, operation: Operation]> =>
    Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]): [string, string, Operation] => [method, path, operation]),
    )

  test('is valid OpenAPI 3.1', async () => {
    const whole: Record<string, unknown> = JSON.parse(JSON.stringify(document))
    const { valid, errors } = await new Validator().validate(whole)
    assert.deepEqual({ valid, errors: errors ?? [] }, { valid: true, errors: [] })
  })

  test('names the endpoints that are open to everybody; all others require a credential', () => {
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/.well-known/jwks.json'])
      assert.deepEqual(document.paths?.[path]?.get?.security, [], path)
    for (const path of ['/v1/notify', '/admin/v1/limits', '/metrics'])
      assert.ok(
        Object.values(document.paths?.[path] ?? {}).every(({ security }) => security?.length),
        path,
      )
  })

  test('describes the problems, limit headers and statuses of every response', () => {
    const notify = document.paths?.['/v1/notify']?.post
    for (const status of ['202', '400', '401', '403', '405', '408', '413', '415', '422', '429', '431', '500', '503'])
      assert.ok(notify?.responses && status in notify.responses, status)
    assert.match(JSON.stringify(notify?.responses?.['202']), /X-RateLimit-Remaining/)
    assert.ok(!JSON.stringify(document.paths?.['/healthz']).includes('X-RateLimit'))
    assert.ok(document.paths?.['/admin/v1/users']?.post?.responses?.['201'])
    assert.ok(document.paths?.['/admin/v1/users/{id}']?.delete?.responses?.['204'])
    assert.ok(document.paths?.['/login']?.post?.responses?.['303'])
    assert.ok(document.paths?.['/v1/users/{id}/choices']?.get?.responses?.['414'])
  })

  test('describes the answers of pages as HTML, errors too', () => {
    const { responses } = { ...document.paths?.['/login']?.post }
    const components: Readonly<Record<string, unknown>> = { ...document.components?.responses }
    for (const status of ['200', '400', '403', '404', '413', '415', '429', '500', '503'] as const) {
      const response = JSON.stringify(responses?.[status])
      const name = /#\/components\/responses\/(\w+)/.exec(response)?.[1]
      assert.match(name === undefined ? response : JSON.stringify(components[name]), /"text\/html"/, status)
    }
  })

  test('has no component that nothing refers to', () => {
    const text = JSON.stringify(document)
    for (const part of ['schemas', 'responses', 'headers'] as const)
      for (const name of Object.keys(document.components?.[part] ?? {}))
        assert.ok(text.includes(`"#/components/${part}/${name}"`), name)
  })

  test('describes every member of the responses of management', () => {
    const management = operations().filter(([, path]) => path.startsWith('/admin/v1/'))
    assert.ok(management.length > 20)
    const vague = management.filter(([, , { responses }]) => {
      if (responses && '204' in responses) return false
      const response = JSON.stringify(responses?.['200'] ?? responses?.['201'])
      return (
        !response.includes('"properties"') &&
        !response.includes('"$ref":"#/components/schemas/') &&
        !response.includes('application/x-ndjson') &&
        !response.includes('text/event-stream')
      )
    })
    assert.deepEqual(vague, [])
  })

  test('names what requests and answers are made of, once, and refers to it', () => {
    const schemas: Record<string, { readonly title?: string }> = { ...document.components?.schemas }
    for (const name of [
      'NotifyRequest',
      'Acceptance',
      'Preference',
      'Scheduled',
      'User',
      'OAuthClient',
      'LimitStanding',
    ])
      assert.ok(name in schemas, name)
    const text = JSON.stringify(document)
    const { post } = document.paths?.['/v1/notify'] ?? {}
    assert.match(JSON.stringify(post?.requestBody), /"\$ref":"#\/components\/schemas\/NotifyRequest"/)
    assert.match(JSON.stringify(document.paths?.['/admin/v1/users']?.get), /"\$ref":"#\/components\/schemas\/User"/)
    for (const [, name = ''] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g))
      assert.ok(name in schemas, name)
    for (const [name, { title }] of Object.entries(schemas))
      if (title !== undefined) assert.equal(text.split(`"title":"${title}"`).length, 2, `${name} stands once`)
  })

  test('has every operation of the tables once, by an id and with a short summary', () => {
    const ids = operations().map(([, , { operationId = '' }]) => operationId)
    const tables = [identityOperations, notifyOperations, gatewayOperations, operation].flatMap(({ ids }) => [...ids])
    assert.deepEqual(ids.toSorted(), tables.toSorted())
    assert.equal(new Set(ids).size, ids.length)
    for (const [method, path, { operationId = '', summary = '', description = '' }] of operations()) {
      assert.match(operationId, /^[a-z][A-Za-z]*(\.[a-z][A-Za-z]*){1,2}$/, `${method} ${path}`)
      assert.ok(summary.length > 0 && summary.length < 80 && !summary.endsWith('.'), `${method} ${path}: ${summary}`)
      assert.ok(description.endsWith('.'), `${method} ${path}: ${description}`)
    }
  })

  test('pages every list by cursor and limit, and marks it for generated clients', () => {
    const lists = operations().filter(([, , { operationId = '' }]) => /\.(list|search)$/.test(operationId))
    assert.ok(lists.length > 20)
    for (const [method, path, operation] of lists) {
      assert.equal(operation['x-gatehouse-page'], method === 'get' ? 'query' : 'body', `${method} ${path}`)
      const request = JSON.stringify(method === 'get' ? operation.parameters : operation.requestBody)
      assert.match(request, /cursor/, `${method} ${path}`)
      assert.match(request, /"minimum":1,"maximum":200,"default":50/, `${method} ${path}`)
    }
    const marked = operations().filter(([, , operation]) => operation['x-gatehouse-page'] !== undefined)
    assert.deepEqual(marked, lists)
  })

  test('is what the types and the table of @gatehouse/client are generated from', () => {
    for (const { path, text } of generatedFiles(document as unknown as Document))
      assert.ok(readFileSync(path, 'utf8') === text, `${path} is out of date: npm run client`)
  })

  test('marks operations that exist and may be sent again, or may not despite their method', () => {
    const marked = operations().filter(([, , operation]) => operation['x-gatehouse-idempotent'] !== undefined)
    const [unrepeatable, repeatable] = [false, true].map((may) =>
      marked.filter(([, , operation]) => (operation['x-gatehouse-idempotent'] !== false) === may),
    )
    const idsOf = (of: typeof marked = []) => of.map(([, , { operationId }]) => operationId).toSorted()
    assert.deepEqual(idsOf(repeatable), repeatableIds.toSorted())
    assert.deepEqual(idsOf(unrepeatable), unrepeatableIds.toSorted())
    for (const [method, path] of repeatable ?? []) assert.equal(method, 'post', path)
    for (const [method, path] of unrepeatable ?? []) assert.notEqual(method, 'post', path)
  })

  test('names the entity tag of what is edited, and 412 where If-Match is taken', () => {
    const responseOf = (path: string, method: string, status: string) =>
      JSON.stringify(document.paths?.[path]?.[method]?.responses?.[status])
    for (const [path, method] of [
      ['/admin/v1/clients/{id}', 'patch'],
      ['/admin/v1/users/{id}', 'patch'],
      ['/admin/v1/connections/{id}', 'patch'],
      ['/admin/v1/organizations/{organization_id}', 'patch'],
      ['/organizations/{organization_id}', 'patch'],
      ['/v1/event-types/{event}', 'put'],
      ['/v1/templates/{template_id}/{channel}/{locale}', 'put'],
      ['/v1/users/{id}/preferences/{event_type}', 'put'],
    ] as const) {
      assert.match(responseOf(path, 'get', '200'), /ETag/, path)
      assert.match(responseOf(path, method, '200'), /ETag/, path)
      assert.match(responseOf(path, method, '412'), /PreconditionFailed/, path)
    }
    assert.doesNotMatch(responseOf('/v1/users/{id}/preferences', 'get', '200'), /ETag/)
  })

  test('has the entries of a timeline as a union, discriminated by what, each with its detail', () => {
    const schemas = { ...document.components?.schemas } as Record<string, { properties?: Record<string, unknown> }>
    const timeline = schemas.Notification?.properties?.timeline as { items: { discriminator: { mapping: object } } }
    const { mapping } = timeline.items.discriminator
    assert.ok(Object.keys(mapping).includes('queued'))
    for (const [what, reference] of Object.entries(mapping)) {
      const { properties = {} } = schemas[String(reference).split('/').at(-1) ?? ''] ?? {}
      assert.match(JSON.stringify(properties.what), new RegExp(`"${what}"`))
      assert.match(JSON.stringify(properties.detail), /"properties"/, what)
    }
  })

  test('has a success or a redirect for every operation', () => {
    for (const [method, path, { responses = {} }] of operations())
      assert.ok(
        Object.keys(responses).some((status) => /^[23]/.test(status)),
        `${method} ${path}`,
      )
  })

  test('names no schema as generated clients name themselves', () => {
    const schemas: Record<string, unknown> = { ...document.components?.schemas }
    for (const name of ['Client', 'NewClient', 'ClientOption', 'Configuration', 'Response'])
      assert.ok(!(name in schemas), name)
  })

  test('lets requests name several resources (RFC 8707)', () => {
    const { parameters = [] } = document.paths?.['/authorize']?.get ?? {}
    const parameter = parameters.find((parameter) => 'name' in parameter && parameter.name === 'resource')
    assert.match(JSON.stringify(parameter), /"in":"query".*"type":"array"|"type":"array".*"in":"query"/)
    for (const path of ['/token', '/device_authorization', '/par'])
      assert.match(JSON.stringify(document.paths?.[path]?.post?.requestBody), /"resource":\{"type":"array"/, path)
  })

  /** Sends one request to every documented operation; answers those whose status is not documented. */
  async function undocumented(init: RequestInit): Promise<string[]> {
    const found: string[] = []
    for (const [method, path, { responses = {} }] of operations()) {
      const body = ['get', 'head', 'delete'].includes(method) ? {} : { body: init.body ?? null }
      const target = path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'channel' ? 'email' : 'nobody'))
      const request = { ...init, body: null, ...body, method: method.toUpperCase(), redirect: 'manual' } as const
      const answer = await fetch(`${program.url}${target}`, request)
      await answer.body?.cancel()
      if (!(answer.status in responses)) found.push(`${method} ${path} answered ${answer.status}`)
    }
    return found
  }

  test('names every status that comes without a credential', async () => {
    assert.deepEqual(await undocumented({}), [])
  })

  test('names every status that comes for what is not there, and for a body that is not valid', async () => {
    const headers = { authorization, 'content-type': 'application/json' }
    assert.deepEqual(await undocumented({ headers, body: '{"unknown":1}' }), [])
  })

  test('names every status that comes for a body of a type that is not taken', async () => {
    const headers = { authorization, 'content-type': 'image/png' }
    assert.deepEqual(await undocumented({ headers, body: 'x' }), [])
  })

  test('is readable in a page of our look, whose policy lets in nothing of others', async () => {
    const answer = await fetch(`${program.url}/docs`)
    assert.match(await answer.text(), /<title>API reference · Gatehouse<\/title>/)
    const policy = answer.headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w-]{20,}'/)
    assert.doesNotMatch(policy, /https?:|unsafe-eval|(script-src|style-src) [^;]*'unsafe-inline'/)
  })
})

test('documents of other processes are merged; one that does not answer is named as missing', async (context) => {
  const there = { openapi: '3.1.0', info: { title: 't', version: '1' }, paths: { '/there': { get: {} } } }
  const server = createServer((_req, res) => res.end(JSON.stringify(there)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  context.after(() => server.close())
  const own: ApiDocument = { info: { title: 'own', version: '1' }, paths: { '/here': { get: {} } } }
  const join = createJoining({ identity: `http://127.0.0.1:${port}`, notify: 'http://127.0.0.1:1' })
  const { info, paths } = await join(own)
  assert.deepEqual(Object.keys(paths ?? {}).sort(), ['/here', '/there'])
  assert.deepEqual([info.title, info.description], ['own', 'Left out, because it does not answer: notify.'])
})
