import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { asksForFactor, createPerson, enrol, shownCodes, TestApp } from '../support/factors/factors.ts'
import { clients, hiddenFields, TestBrowser, users } from '../support/journey.ts'
import { type Running, setup, type TestResponse } from '../support/setup.ts'

describe('second factors on PostgreSQL', () => {
  let server: Server | undefined
  let database: Database
  let running: Running
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
    if (server === undefined) return
    database = await postgresDatabase(server, 20)
    running = await setup({ declared: { clients, users }, mfa: 'optional' }, database)
  })
  after(async () => {
    await running?.close()
    await database?.close()
    await server?.stop()
  })

  /** Browsers in which the password was accepted, with the page that asks for the factor. */
  const begin = (user: readonly [string, string], count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const browser = new TestBrowser(running)
        const page = await browser.signIn(await browser.get('/account'), ...user)
        assert.ok(asksForFactor(page), page.text)
        return { browser, page }
      }),
    )
  const succeeded = (answers: readonly TestResponse[], status = 303) => answers.filter((one) => one.status === status)
  const sessions = async ([id]: readonly [string, string]) =>
    (await running.identity.management.listSessions(id)).length
  const waiting = async (): Promise<void> => {
    const text = `SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
    while ((await database.query<{ n: number }>(text)).rows[0]?.n === 0) await nextTurn()
  }

  testWith('postgresql', 'of many concurrent uses of a code, one signs in', async () => {
    const user = await createPerson(running)
    const { app } = await enrol(running, user)
    const begun = await begin(user, 8)
    const code = app.nextCode()
    const typed = (index: number) => (index % 2 === 0 ? code : `${code.slice(0, 3)} ${code.slice(3)}`)
    const answers = await Promise.all(
      begun.map(({ browser, page }, index) => browser.submit(page, { code: typed(index) })),
    )
    assert.equal(succeeded(answers).length, 1)
    assert.equal(succeeded(answers, 401).length, 7)
    assert.equal(await sessions(user), 2)
  })

  testWith('postgresql', 'of many concurrent uses of a recovery code, one signs in', async () => {
    const user = await createPerson(running)
    const { codes } = await enrol(running, user)
    const begun = await begin(user, 8)
    const recovery_code = codes[0] ?? ''
    const answers = await Promise.all(begun.map(({ browser, page }) => browser.submit(page, { recovery_code })))
    assert.equal(succeeded(answers).length, 1)
    assert.equal(await sessions(user), 2)
  })

  testWith('postgresql', 'of two concurrent enrolments, one counts', async () => {
    const user = await createPerson(running)
    const browsers = [new TestBrowser(running), new TestBrowser(running)]
    const pages = await Promise.all(
      browsers.map(async (browser) => browser.signIn(await browser.get('/account/factors/app'), ...user)),
    )
    const apps = pages.map((page) => new TestApp(running, page))
    const answers = await Promise.all(
      pages.map((page, index) => browsers[index]?.submit(page, { code: apps[index]?.code() ?? '' }) ?? assert.fail()),
    )
    assert.equal(answers.filter((page) => shownCodes(page).length === 10).length, 1)
    const winner = apps[answers.findIndex((page) => shownCodes(page).length === 10)]
    const [begun] = await begin(user, 1)
    const answer = await begun?.browser.submit(begun.page, { code: winner?.nextCode() ?? '' })
    assert.equal(answer?.status, 303)
  })

  testWith('postgresql', 'a sign-in by password that waits for an enrolment gets no session', async () => {
    const user = await createPerson(running)
    const browser = new TestBrowser(running)
    const login = await browser.get('/account')
    const [changed, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const enrolment = database.transaction(async (tx) => {
      await tx.query('UPDATE identity.account SET credential_version = gen_random_uuid() WHERE id = $1', [user[0]])
      changed.resolve()
      await release.promise
    })
    await changed.promise
    const answer = browser.submit(login, { username: user[0], password: user[1] })
    await waiting()
    release.resolve()
    await enrolment
    assert.equal((await answer).status, 401)
    assert.equal(await sessions(user), 0)
  })

  testWith('postgresql', 'a removal and a replacement at once leave what one of them made', async () => {
    const user = await createPerson(running)
    const { browser } = await enrol(running, user)
    const page = await browser.get('/account/factors/app')
    const overview = hiddenFields(await browser.get('/account/factors'))
    const [replaced, removed] = await Promise.all([
      browser.submit(page, { code: new TestApp(running, page).code() }),
      browser.post('/account/factors', { ...overview, action: 'remove_app' }),
    ])
    // A removal that reads the account after the replacement removes the new app: then both happened, one by one.
    const isRemoved = removed.status === 200
    assert.ok(isRemoved || replaced.status === 303, `${replaced.status} ${removed.status}`)
    const { rowCount } = await database.query('SELECT 1 FROM identity.factor WHERE user_id = $1', [user[0]])
    assert.equal(rowCount, isRemoved ? 0 : 1)
  })
})
