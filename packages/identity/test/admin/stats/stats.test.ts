import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clients, TestBrowser, users } from '../../support/journey.ts'
import { service, serviceToken, setup } from '../../support/setup.ts'

test('sign-ins and tokens are counted by outcome and grant, and written at the stop', async (t) => {
  const reader = { ...service, scopes: ['admin:users'] }
  const running = await setup({ declared: { clients: [...clients, reader], users } })
  t.after(() => running.close())
  const token = await serviceToken(running, 'admin:users')
  const browser = new TestBrowser(running)
  for (const password of ['wrong', 'wrong too'])
    await browser.submit(await browser.get('/account'), { username: 'alice', password })
  const read = async (query: string) => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await running.http.inject({ method: 'GET', url: `/admin/v1/stats?${query}`, headers })
    return { status: response.statusCode, body: response.json() }
  }
  const { body } = await read('measure=sign_ins&by=outcome')
  assert.deepEqual(
    body.series.map(({ labels, values }: { labels: object; values: number[] }) => [
      labels,
      values.reduce((sum, value) => sum + value, 0),
    ]),
    [[{ outcome: 'wrong' }, 2]],
  )
  assert.deepEqual((await read('measure=tokens')).body.series[0].labels, { grant_type: 'client_credentials' })
  const wrong = await read('measure=tokens&by=outcome')
  assert.equal(wrong.status, 400)
  assert.match(wrong.body.detail, /must be grant_type for tokens/)
  await Promise.all(running.identity.workers.map((worker) => worker.stop()))
  const { rows } = await running.database.query(
    `SELECT step, labels, value FROM identity.stat WHERE measure = 'sign_ins' ORDER BY step`,
  )
  const labels = { method: 'password', outcome: 'wrong' }
  assert.deepEqual(rows, [
    { step: 60, labels, value: 2 },
    { step: 3_600, labels, value: 2 },
  ])
})

test('the setup knows the clients that are somebody else’s, and a single owner', async (t) => {
  const owner = { ...(users[0] ?? assert.fail('no user')), roles: ['gatehouse-owner'] }
  const running = await setup({ declared: { clients: [...clients, service], users: [owner] } })
  t.after(() => running.close())
  const provided = new Set([...clients, service].map(({ client_id: id }) => id))
  const done = async (known: ReadonlySet<string>) =>
    Object.fromEntries((await running.identity.setup(known)).map((step) => [step.id, step.done]))
  assert.deepEqual(await done(provided), { own_client: false, sign_in: false, second_owner: false })
  assert.equal((await done(new Set())).own_client, true)
  assert.deepEqual(
    (await running.identity.findings()).map(({ code }) => code),
    ['single_owner'],
  )
})
