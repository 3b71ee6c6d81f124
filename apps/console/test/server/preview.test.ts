import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Person } from '../support/person.ts'
import { type Platform, passwordOf, startPlatform } from '../support/platform.ts'

const framed = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'iframe' }

describe('previews of mails', () => {
  let platform: Platform
  const people = new Map<string, Person>()
  before(async () => {
    platform = await startPlatform()
    for (const name of ['olga', 'otto', 'sara']) {
      const person = new Person(platform.url)
      await person.signIn(name, passwordOf(name))
      people.set(name, person)
    }
  })
  after(() => platform.stop())
  const person = (name: string) => people.get(name) ?? assert.fail(name)

  const keep = async (name: string, html: unknown): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await person(name).api('/preview', { method: 'POST', body: JSON.stringify({ html }), headers })
    assert.equal(answer.status, 201, await answer.clone().text())
    return ((await answer.json()) as { id: string }).id
  }
  const show = (name: string, id: string, headers: Record<string, string> = framed) =>
    person(name).request(`/console/preview/${id}`, { headers })

  test('the document is shown in frames of its own session, with a policy that lets nothing out', async () => {
    const id = await keep('olga', '<p>Hello</p>')
    const answer = await show('olga', id)
    assert.equal(answer.status, 200)
    assert.equal(await answer.text(), '<p>Hello</p>')
    const policy = String(answer.headers.get('content-security-policy')).split('; ')
    for (const rule of [
      'sandbox',
      "default-src 'none'",
      'img-src data:',
      "form-action 'none'",
      "frame-ancestors 'self'",
    ])
      assert.ok(policy.includes(rule), rule)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  })

  test('the oldest of a session make room when all are too long together', async () => {
    const long = 'ü'.repeat(390_000)
    const ids: string[] = []
    for (let n = 0; n < 7; n++) {
      platform.clock.advance(1)
      ids.push(await keep('otto', long))
    }
    const found = await Promise.all(ids.map(async (id) => (await show('otto', id)).status))
    assert.deepEqual(found, [404, 404, 200, 200, 200, 200, 200], 'of 4 MiB in all')
    const { rows } = await platform.database.query<{ bytes: number }>(
      'SELECT sum(octet_length(document))::integer AS bytes FROM console.preview GROUP BY session_id_hash ORDER BY 1 DESC',
    )
    assert.ok((rows[0]?.bytes ?? 0) <= 4 * 1024 * 1024)
  })

  test('the preview of another session or sign-in is not found, nor one without a session', async () => {
    const id = await keep('olga', '<p>secret</p>')
    for (const other of ['otto', 'sara']) assert.equal((await show(other, id)).status, 404)
    assert.equal((await new Person(platform.url).request(`/console/preview/${id}`, { headers: framed })).status, 404)
    const again = new Person(platform.url)
    await again.signIn('olga', passwordOf('olga'))
    assert.equal((await again.request(`/console/preview/${id}`, { headers: framed })).status, 404)
    assert.equal((await show('olga', id)).status, 200)
  })

  for (const [what, headers] of [
    ['a page of its own', { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'document' }],
    ['a frame of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'iframe' }],
    ['a script', { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' }],
    ['no browser', {}],
  ] as const)
    test(`the preview is not shown to ${what}`, async () => {
      assert.equal((await show('olga', await keep('olga', '<p>x</p>'), headers)).status, 404)
    })

  test('a page of another site keeps none', async () => {
    const body = JSON.stringify({ html: '<p>x</p>' })
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'x-console': '1', 'sec-fetch-site': 'cross-site' }])
      assert.equal(
        (await person('olga').request('/console/api/preview', { method: 'POST', body, headers })).status,
        403,
      )
    assert.equal((await new Person(platform.url).api('/preview', { method: 'POST', body })).status, 401)
  })

  for (const [what, body, status] of [
    ['no JSON', 'html', 400],
    ['no document', '{"html":5}', 400],
    ['a list', '[]', 400],
    ['too long a document', JSON.stringify({ html: 'x'.repeat(400_001) }), 413],
  ] as const)
    test(`a body with ${what} is answered ${status}`, async () => {
      assert.equal((await person('olga').api('/preview', { method: 'POST', body })).status, status)
    })

  test('a preview ends after a minute, and with its session', async () => {
    const id = await keep('otto', '<p>x</p>')
    platform.clock.advance(59_000)
    assert.equal((await show('otto', id)).status, 200)
    platform.clock.advance(1_000)
    assert.equal((await show('otto', id)).status, 404)
    const last = await keep('otto', '<p>y</p>')
    await person('otto').api('/sign-out', { method: 'POST' })
    assert.equal((await show('otto', last)).status, 404)
    const { rows } = await platform.database.query<{ document: string }>('SELECT document FROM console.preview')
    assert.ok(rows.every(({ document }) => document !== '<p>y</p>'))
  })

  test('a session has 32 at once: the oldest goes, and expired ones of anybody', async () => {
    const first = await keep('sara', 'the first')
    for (let n = 0; n < 32; n++) {
      platform.clock.advance(1)
      await keep('sara', `number ${n}`)
    }
    assert.equal((await show('sara', first)).status, 404)
    const count = async () => (await platform.database.query('SELECT FROM console.preview')).rowCount
    assert.equal(await count(), 32)
    platform.clock.advance(60_000)
    await keep('olga', 'another')
    assert.equal(await count(), 1)
  })

  test('an element that connects to hosts past the policy is none any more', async () => {
    const links = '<link rel=preconnect href=//a.example><LINK\n><p title="<link/>">'
    const shown = await (await show('olga', await keep('olga', links))).text()
    assert.doesNotMatch(shown, /<link/i)
    assert.match(shown, /^<x-link rel=preconnect/)
  })

  test('what PostgreSQL cannot store is replaced', async () => {
    assert.equal(await (await show('olga', await keep('olga', 'a\u0000b\ud800'))).text(), 'a\ufffdb\ufffd')
  })
})
