import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import type { Route } from 'playwright-core'
import { consoleOfSuite } from '../../support/console.ts'
import { demoToken } from '../../support/demo-client.ts'
import { started } from '../../support/program.ts'

interface Notified {
  readonly deliveries: readonly { readonly channel: string; readonly outcome: string }[]
}

describe('what is sent in the console when its answer is lost', () => {
  const { tab, program, open, toast, faults } = consoleOfSuite({ start: () => started(), first: ['/send', 'Send'] })
  const list = async <Item>(path: string) => {
    const authorization = `Bearer ${await demoToken(program(), 'admin:notifications')}`
    const answer = await fetch(`${program().url}${path}`, { headers: { authorization } })
    return ((await answer.json()) as { items: Item[] }).items
  }
  /** How many messages were sent to the feed of a user; a duplicate is recorded too, and is none. */
  const countOf = async (user: string) => {
    const sent = await list<Notified>(`/v1/notifications?user_id=${user}&limit=50`)
    const messages = sent.flatMap(({ deliveries }) => deliveries)
    return messages.filter(({ channel, outcome }) => channel === 'in-app' && outcome === 'queued').length
  }
  const choose = (mode: string) => tab().getByText(mode, { exact: true }).first().click()
  /** How the server answered what was lost. */
  const statuses: number[] = []
  /** Has the server take the next call of a path, whose answer never comes. */
  const loseAnswer = (path: string) =>
    tab().route(
      `**/console/api${path}`,
      async (route) => {
        const headers = { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' }
        const answer = await route.fetch({ headers })
        statuses.push(answer.status())
        await route.abort()
      },
      { times: 1 },
    )
  const refused = () => tab().getByRole('alert').first().waitFor()
  const write = async (user: string) => {
    await tab().getByLabel('Event type').fill('order.shipped')
    await tab().getByLabel('User id').fill(user)
    await tab().getByText('"order_id"').first().waitFor()
  }
  const event = (user: string, order: string) =>
    JSON.stringify({ event: 'order.shipped', user_id: user, data: { order_id: order }, channels: ['in-app'] })
  const events = () => tab().getByLabel('Events (JSON array, or one object a line)')
  const sendMany = async (count: number) => {
    const dialog = tab().getByRole('dialog')
    if (!(await dialog.isVisible()))
      await tab()
        .getByRole('button', { name: `Send ${count}` })
        .click()
    await dialog.getByRole('button', { name: `Send ${count}` }).click()
  }
  const accepted = async (count: number) => {
    await tab().getByRole('dialog').waitFor({ state: 'detached' })
    const results = tab().getByRole('table', { name: 'Result' })
    await results
      .getByText('accepted')
      .nth(count - 1)
      .waitFor()
  }

  testWith(
    'chromium',
    'many events are sent once, however often they are tried, and again after a success',
    async () => {
      await tab().clock.install()
      await choose('Many')
      // Two of them are equal: both are meant.
      await events().fill([event('many', 'A'), event('many', 'A'), event('many', 'B')].join('\n'))
      await loseAnswer('/v1/notify/bulk')
      await sendMany(3)
      await refused()
      await sendMany(3)
      await accepted(3)
      assert.equal(await countOf('many'), 3)
      // Sooner it is a double click.
      await tab().clock.runFor(1_000)
      await sendMany(3)
      await accepted(3)
      assert.equal(await countOf('many'), 6)
    },
  )

  testWith('chromium', 'of many events that are edited after a lost answer the new ones are sent too', async () => {
    await open('/send', 'Send')
    await choose('Many')
    await events().fill([event('edits', 'A'), event('edits', 'B')].join('\n'))
    await loseAnswer('/v1/notify/bulk')
    await sendMany(2)
    await refused()
    await tab().getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await tab().getByRole('dialog').waitFor({ state: 'detached' })
    await events().fill([event('edits', 'C'), event('edits', 'B')].join('\n'))
    await tab().reload()
    await sendMany(2)
    await accepted(2)
    assert.equal(await countOf('edits'), 3)
  })

  testWith('chromium', 'one event is sent once, and another text is another event', async () => {
    await open('/send', 'Send')
    await write('single')
    const send = tab().getByRole('button', { name: 'Send', exact: true })
    await loseAnswer('/v1/notify')
    await send.click()
    await refused()
    const data = tab().getByLabel('Data (JSON)')
    const first = await data.inputValue()
    await data.fill('{"order_id": "other"}')
    await loseAnswer('/v1/notify')
    await send.click()
    await refused()
    await data.fill(first)
    await send.click()
    await tab().getByRole('heading', { level: 1, name: 'order.shipped' }).waitFor()
    assert.equal(await countOf('single'), 2)
  })

  testWith('chromium', 'what is scheduled again after a lost answer has the key of the first', async () => {
    await open('/send', 'Send')
    await choose('At a time')
    await write('later')
    await tab().getByLabel(/^Time/).fill('2090-01-01T10:00')
    const schedule = tab().getByRole('button', { name: 'Schedule' })
    await loseAnswer('/v1/scheduled')
    await schedule.click()
    await refused()
    await schedule.click()
    await toast('It is scheduled.')
    const rows = await list<{ payload: { dedup_key?: string } }>('/v1/scheduled')
    const keys = rows.map(({ payload }) => payload.dedup_key)
    assert.deepEqual([keys.length, new Set(keys).size, keys.includes(undefined)], [2, 1, false])
  })

  testWith('chromium', 'many events are waited for as long as the server takes', async () => {
    await open('/send', 'Send')
    await choose('Many')
    await tab().clock.install()
    await events().fill(event('waits', 'A'))
    const waiting = Promise.withResolvers<Route>()
    await tab().route('**/console/api/v1/notify/bulk', (route) => waiting.resolve(route), { times: 1 })
    await sendMany(1)
    const route = await waiting.promise
    await tab().clock.runFor(4 * 60_000)
    assert.equal(await tab().getByRole('alert').count(), 0)
    await route.continue()
    await accepted(1)
    assert.deepEqual([faults(), statuses], [[], [200, 200, 202, 202, 201]])
  })
})
