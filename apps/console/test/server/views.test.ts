import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Person } from '../support/person.ts'
import { type Platform, passwordOf, startPlatform } from '../support/platform.ts'

describe('saved views', () => {
  let platform: Platform
  const people = new Map<string, Person>()
  before(async () => {
    platform = await startPlatform()
    for (const name of ['olga', 'otto']) {
      const person = new Person(platform.url)
      await person.signIn(name, passwordOf(name))
      people.set(name, person)
    }
  })
  after(() => platform.stop())

  const of = (name: string) => people.get(name) ?? assert.fail(name)
  const save = (name: string, body: unknown) =>
    of(name).api('/views', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
  const list = async (name: string, screen = '/notifications') => {
    const answer = await of(name).api(`/views?screen=${screen}`)
    return ((await answer.json()) as { items: { id: string; name: string; filters: object }[] }).items
  }
  const view = { screen: '/notifications', name: 'bounced mail', filters: { channel: 'email', state: 'bounced' } }

  test('a view is of its person, replaced by its name and removed by its id', async () => {
    assert.equal((await save('olga', view)).status, 201)
    assert.equal((await save('olga', { ...view, filters: { state: 'bounced' } })).status, 201)
    const [saved, ...more] = await list('olga')
    assert.deepEqual([saved?.name, saved?.filters, more], ['bounced mail', { state: 'bounced' }, []])
    assert.deepEqual(await list('otto'), [])
    const path = `/views/${saved?.id}`
    assert.equal((await of('otto').api(path, { method: 'DELETE' })).status, 404)
    assert.equal((await of('olga').api(path, { method: 'DELETE' })).status, 204)
    assert.deepEqual(await list('olga'), [])
  })

  test('a view is of its screen, wherever that is in the navigation', async () => {
    const nested = { ...view, screen: '/limits/callers', filters: { tab: 'totals' } }
    assert.equal((await save('olga', nested)).status, 201)
    assert.deepEqual(await list('olga'), [])
    const [{ id, name } = assert.fail('not saved')] = await list('olga', nested.screen)
    assert.equal(name, view.name)
    assert.equal((await of('olga').api(`/views/${id}`, { method: 'DELETE' })).status, 204)
  })

  test('a person has at most 50, and may still replace one', async () => {
    for (let n = 0; n < 50; n++) assert.equal((await save('otto', { ...view, name: `view ${n}` })).status, 201)
    assert.equal((await save('otto', { ...view, name: 'one more' })).status, 409)
    assert.equal((await save('otto', { ...view, name: 'view 7', filters: { event: 'x' } })).status, 201)
    assert.equal((await list('otto')).length, 50)
  })

  for (const [what, body] of [
    ['without a name', { ...view, name: ' ' }],
    ['with a name that is too long', { ...view, name: 'x'.repeat(81) }],
    ['of an address outside', { ...view, screen: '//evil.example' }],
    ['without filters', { ...view, filters: {} }],
    ['with a filter that is no text', { ...view, filters: { event: 1 } }],
    ['with a filter that is personal', { ...view, filters: { dedup_key: 'secret' } }],
    ['with a filter that no database stores', { ...view, filters: { event: 'a\u0000' } }],
    ['with a name that no database stores', { ...view, name: 'a\ud800' }],
    ['that is no object', []],
  ] as const)
    test(`a view ${what} is refused`, async () => {
      assert.equal((await save('olga', body)).status, 400)
    })

  test('without a session there are no views', async () => {
    assert.equal((await new Person(platform.url).api('/views?screen=/notifications')).status, 401)
  })
})
