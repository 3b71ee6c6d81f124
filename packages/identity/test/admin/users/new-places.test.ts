import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, startPostgres, testWith } from '@gatehouse/testing'
import { clients, TestBrowser } from '../../support/journey.ts'
import { administrators, call, consoleClient, tokenOf } from '../../support/management/administrators.ts'
import { type Running, setup } from '../../support/setup.ts'

const password = 'a long and quiet password'
const people = ['ann', 'ben', 'cleo'].map((id) => ({ id, password, email: `${id}@people.example` }))
const declared = { clients: [...clients, consoleClient], users: [...administrators, ...people] }
const agent = { 'user-agent': 'Mozilla/5.0 (X11; Linux) Firefox/140.0' }
const title = 'a session says whether its user is at a new address or in a new browser, and of whom that is known'

interface Listed {
  readonly id: string
  readonly new_address: boolean
  readonly new_device: boolean
}

async function checkPlaces(running: Running): Promise<void> {
  const owner = await tokenOf(running, 'gatehouse-owner')
  const list = async (query: string) => {
    const { body, text } = await call(running, owner, { method: 'GET', url: `/admin/v1/sessions?${query}` })
    return (body.items as Listed[] | undefined) ?? assert.fail(text)
  }
  const latest = async (user: string) => {
    const [found] = await list(`user_id=${user}`)
    return [found?.new_address, found?.new_device]
  }
  const signIn = async (browser: TestBrowser, user: string) => {
    running.clock.advance(1_000)
    await browser.signIn(await browser.get('/account'), user, password)
  }
  const home = new TestBrowser(running, agent, '192.0.2.1')
  await signIn(home, 'ann')
  assert.deepEqual(await latest('ann'), [false, false], 'there is nothing to compare a first sign-in with')
  const copy = new TestBrowser(running, agent, '198.51.100.7')
  await signIn(copy, 'ann')
  assert.deepEqual(await latest('ann'), [true, true])
  for (const [name, value] of home.cookies) if (/device/.test(name)) copy.cookies.set(name, value)
  const train = new TestBrowser(running, agent, '203.0.113.9')
  for (const [name, value] of home.cookies) if (/device/.test(name)) train.cookies.set(name, value)
  await signIn(train, 'ann')
  assert.deepEqual(await latest('ann'), [true, false], 'a known browser at another address')
  const again = new TestBrowser(running, agent, '192.0.2.1')
  await signIn(again, 'ann')
  assert.deepEqual(await latest('ann'), [false, true], 'another browser at a known address')
  await signIn(new TestBrowser(running, agent, '192.0.2.1'), 'ben')
  assert.deepEqual(await latest('ben'), [false, false], 'the sign-ins of others do not count')

  const marked = await list('user_id=ann&is_new=true')
  assert.equal(marked.length, 3)
  const [one] = marked
  assert.deepEqual(await list(`id=${one?.id}`), [one])
  assert.deepEqual(await list('id=019a205c-cc20-7a27-aaca-4b0e3f272052'), [])
}

test(title, async (t) => {
  const running = await setup({ declared })
  t.after(() => running.close())
  await checkPlaces(running)
})

describe('on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  before(async () => {
    server = await startPostgres().catch(() => undefined)
    if (server !== undefined) database = await postgresDatabase(server, 4)
  })
  after(async () => {
    await database?.close()
    await server?.stop()
  })
  testWith('postgresql', title, async (t) => {
    const running = await setup({ declared }, database)
    t.after(() => running.close())
    await checkPlaces(running)
  })
})
