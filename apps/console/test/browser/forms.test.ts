import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, connect } from '@gatehouse/client'
import { differences } from '../../src/browser/forms/difference.ts'
import { faultsByField } from '../../src/browser/forms/faults.ts'
import { isKept, keepForm, removeForms, removeStaleForms, takeForm } from '../../src/browser/forms/kept.ts'

/** The error of a call that is refused with these members of a problem. */
async function refusal(problem: object): Promise<Error> {
  const body = JSON.stringify({ status: 422, title: 'Unprocessable', detail: 'It is wrong.', ...problem })
  const fetch = async () => new Response(body, { status: 422, headers: { 'content-type': 'application/problem+json' } })
  const connection = connect({ baseUrl: 'https://api.example', fetch, maxAttempts: 1 })
  return call(connection, { method: 'POST', path: '/' }).then(
    () => assert.fail('it was not refused'),
    (error: Error) => error,
  )
}

test('a fault is shown at the field of its pointer, with the number of the item', async () => {
  const error = await refusal({
    errors: [
      { pointer: '/redirect_uris/1', detail: 'must be https' },
      { pointer: '/redirect_uris/2', detail: 'must be an URI' },
      { pointer: '#/client_name', detail: 'must not be empty' },
      { pointer: '/a~1b', detail: 'is odd' },
    ],
  })
  assert.deepEqual(faultsByField(error, ['redirect_uris', 'client_name', 'a/b']), {
    fields: {
      redirect_uris: '2: must be https; 3: must be an URI',
      client_name: 'must not be empty',
      'a/b': 'is odd',
    },
    rest: undefined,
  })
})

test('a fault without a field is shown beside them, as is a refusal without faults', async () => {
  const error = await refusal({ errors: [{ pointer: '/scopes', detail: 'is missing' }] })
  assert.deepEqual(faultsByField(error, ['name']), { fields: {}, rest: '/scopes is missing' })
  assert.deepEqual(faultsByField(await refusal({}), ['name']), { fields: {}, rest: 'It is wrong.' })
  assert.deepEqual(faultsByField(new Error('no connection'), ['name']), { fields: {}, rest: 'no connection' })
})

class Tab {
  readonly items = new Map<string, string>()
  getItem = (key: string) => this.items.get(key) ?? null
  setItem = (key: string, value: string) => void this.items.set(key, value)
  removeItem = (key: string) => void this.items.delete(key)
  key = (index: number) => [...this.items.keys()][index] ?? null
  get length() {
    return this.items.size
  }
}

test('what was typed is kept once, for its person, for 15 minutes, and without secrets', () => {
  const storage = new Tab()
  const place = { storage, name: 'client', user: 'alice' }
  const values = { client_name: 'Shop', client_secret: 'hidden' }
  const keep = () => keepForm(place, { values, etag: '"1"' }, { now: 0, secret: ['client_secret'] })
  keep()
  assert.doesNotMatch([...storage.items.values()].join(), /hidden/)
  assert.ok(isKept(place, 1))
  assert.deepEqual(takeForm(place, 1), { values: { client_name: 'Shop' }, etag: '"1"' })
  assert.equal(takeForm(place, 1), undefined)
  assert.equal(storage.items.size, 0)
  keep()
  assert.ok(!isKept({ ...place, user: 'bob' }, 1))
  assert.equal(takeForm({ ...place, user: 'bob' }, 1), undefined)
  assert.equal(storage.items.size, 0, 'nobody else finds it later')
  keep()
  assert.equal(takeForm(place, 15 * 60_000), undefined)
  storage.setItem('gatehouse-form client', '{')
  assert.equal(takeForm(place, 1), undefined)
})

test('what was typed does not outlive its person in the tab, whichever form opens again', () => {
  const storage = new Tab()
  storage.setItem('theme', 'dark')
  const keep = (name: string, user: string, now: number) =>
    keepForm({ storage, name, user }, { values: { to: name } }, { now })
  keep('old', 'alice', 0)
  keep('of another', 'bob', 60_000)
  keep('fresh', 'alice', 60_000)
  storage.setItem('gatehouse-form broken', '{')
  removeStaleForms(storage, 'alice', 15 * 60_000)
  assert.deepEqual([...storage.items.keys()], ['theme', 'gatehouse-form fresh'])
  removeForms(storage)
  assert.deepEqual([...storage.items.keys()], ['theme'])
})

test('a difference names the members that are other ones, whatever their types', () => {
  const mine = { name: 'a', scopes: ['x'], pkce: true, plan: undefined }
  const theirs = { name: 'b', scopes: ['x'], pkce: false, plan: undefined }
  assert.deepEqual(
    differences<{ name: string; scopes: string[]; pkce: boolean; plan: undefined }>(mine, theirs).map(
      ({ name }) => name,
    ),
    ['name', 'pkce'],
  )
})
