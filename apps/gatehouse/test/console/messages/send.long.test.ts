import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { consoleOfSuite } from '../../support/console.ts'
import { callAsDemo, demoToken } from '../../support/demo-client.ts'
import { started } from '../../support/program.ts'
import { until } from '../page.ts'

const dayMs = 86_400_000

/** A moment as an input of local time has it. */
function localTime(at: number): string {
  const date = new Date(at)
  return new Date(at - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

describe('what is sent later, and many at once, in the console', () => {
  const suite = consoleOfSuite({ start: () => started(), first: ['/send', 'Send'] })
  const { tab, program, open, heading, toast, faultless, fitsPhone, faults } = suite
  const call = (method: string, path: string, body: object) =>
    callAsDemo(program(), 'admin:notifications write:notifications', { method, path, body })
  const scheduledId = async () => {
    const authorization = `Bearer ${await demoToken(program(), 'admin:notifications')}`
    const answer = await fetch(`${program().url}/v1/scheduled`, { headers: { authorization } })
    const { items } = (await answer.json()) as { items: { id: string }[] }
    return items[0]?.id ?? assert.fail('nothing is scheduled')
  }
  /** Waits until what opens has opened. */
  const opened = () =>
    until(
      tab(),
      "getComputedStyle(document.querySelector('[role=dialog]')).opacity === '1' && document.getAnimations().length === 0",
    )
  const choose = (mode: string) => tab().getByText(mode, { exact: true }).first().click()
  const scheduledRow = () => tab().getByRole('row').filter({ hasText: 'order.shipped' })

  testWith('chromium', 'an event is scheduled, foreseen, found among what waits, and moved', async () => {
    await choose('At a time')
    await tab().getByLabel('Event type').fill('order.shipped')
    await tab().getByLabel('User id').fill('alice')
    await tab().getByText('"order_id"').first().waitFor()
    assert.equal(await tab().getByRole('button', { name: 'Schedule' }).isDisabled(), true, 'it has no time yet')
    await tab()
      .getByLabel(/^Time/)
      .fill(localTime(Date.now() + dayMs))
    await tab().getByText('would be sent').first().waitFor()
    await faultless('an event for later')
    await tab().getByRole('button', { name: 'Schedule' }).click()
    await toast('It is scheduled.')
    await open('/scheduled', 'Scheduled')
    await scheduledRow().getByRole('button', { name: /^Move/ }).click()
    const dialog = tab().getByRole('dialog', { name: 'Send it at another time' })
    await dialog.getByLabel('New time').fill(localTime(Date.now() + 2 * dayMs))
    await opened()
    await faultless('moving what is scheduled')
    await dialog.getByRole('button', { name: 'Move' }).click()
    await toast('It was moved.')
  })

  testWith('chromium', 'a move by another that the list does not show yet is seen before it is undone', async () => {
    await open('/scheduled', 'Scheduled')
    await scheduledRow().getByRole('button', { name: /^Move/ }).waitFor()
    const moved = new Date(Date.now() + 5 * dayMs).toISOString()
    await call('PATCH', `/v1/scheduled/${await scheduledId()}`, { fire_at: moved })
    await scheduledRow().getByRole('button', { name: /^Move/ }).click()
    const dialog = tab().getByRole('dialog', { name: 'Send it at another time' })
    const move = dialog.getByRole('button', { name: 'Move', disabled: false })
    await dialog.getByLabel('New time').fill(localTime(Date.now() + 6 * dayMs))
    await move.click()
    await dialog.getByText('Somebody else moved it meanwhile, to').waitFor()
    await move.click()
    await toast('It was moved.')
  })

  testWith('chromium', 'of two who move it the second sees what the first did, and decides', async () => {
    await open('/scheduled', 'Scheduled')
    await scheduledRow().getByRole('button', { name: /^Move/ }).click()
    await tab().getByRole('dialog').getByRole('button', { name: 'Move', disabled: false }).waitFor()
    const id = await scheduledId()
    await call('PATCH', `/v1/scheduled/${id}`, { fire_at: new Date(Date.now() + 3 * dayMs).toISOString() })
    const dialog = tab().getByRole('dialog', { name: 'Send it at another time' })
    await dialog.getByLabel('New time').fill(localTime(Date.now() + 4 * dayMs))
    await dialog.getByRole('button', { name: 'Move' }).click()
    await dialog.getByText('Somebody else moved it meanwhile, to').waitFor()
    await faultless('a move that somebody else came before')
    await dialog.getByRole('button', { name: 'Move' }).click()
    await toast('It was moved.')
    await scheduledRow()
      .getByRole('button', { name: /^Cancel/ })
      .click()
    await tab().getByRole('dialog').getByRole('button', { name: 'Cancel' }).last().click()
    await toast('It was cancelled.')
    await tab().getByText('Nothing is scheduled.').waitFor()
  })

  testWith('chromium', 'many events are counted, confirmed and sent, and those refused come first', async () => {
    await open('/send', 'Send')
    await choose('Many')
    const events = tab().getByLabel('Events (JSON array, or one object a line)')
    await events.fill('{"event": "order.shipped"')
    await tab().getByText('Line 1, column 26: a comma is expected, or the closing bracket.').waitFor()
    const of = (event: string, order: string) =>
      JSON.stringify({ event, user_id: 'alice', data: { order_id: order }, dedup_key: order, channels: ['in-app'] })
    await events.fill([of('order.shipped', 'B-1'), of('order.unknown', 'B-2'), of('order.shipped', 'B-3')].join('\n'))
    await tab().getByRole('button', { name: 'Send 3' }).click()
    const dialog = tab().getByRole('dialog')
    await dialog.getByText('3 events are sent to their users now.').waitFor()
    await opened()
    await faultless('many events before they are sent')
    await dialog.getByRole('button', { name: 'Send 3' }).click()
    const results = tab().getByRole('table', { name: 'Result' })
    await results.getByText('accepted').nth(1).waitFor()
    const rows = await results.getByRole('row').allInnerTexts()
    assert.match(rows[1] ?? '', /^2\s+\S?\s*422[\s\S]*order\.unknown/, 'the refused one is first')
    assert.equal(rows.length, 4)
    await faultless('what became of many events')
    await fitsPhone()
    await open('/notifications?event=order.shipped&channel=in-app', 'Notifications')
    await tab().getByRole('row').nth(2).waitFor()
    assert.equal(await tab().getByRole('row').count(), 3)
  })

  testWith('chromium', 'figures stand beside the list, and the mail of a notification is in a frame', async () => {
    await call('POST', '/v1/notify', {
      ...{ event: 'order.shipped', user_id: 'alice', data: { order_id: 'F-1' }, channels: ['email'] },
    })
    await open('/notifications', 'Notifications')
    await tab()
      .getByRole('figure', { name: /^Accepted, by outcome/ })
      .waitFor()
    await faultless('notifications with their figures')
    await fitsPhone()
    await open('/notifications?user_id=alice', 'Notifications')
    assert.equal(await tab().getByRole('figure').count(), 0, 'nothing is counted by user')
    await open('/notifications?event=order.shipped&channel=email', 'Notifications')
    await tab().getByRole('row').nth(1).getByRole('link').first().click()
    await heading('order.shipped')
    await tab().getByRole('tab', { name: 'Content' }).click()
    await tab().locator('iframe').or(tab().locator('.mail-text')).first().waitFor()
    await faultless('the mail of a notification')
    await fitsPhone()
    await open('/event-types', 'Event types')
    await tab().getByRole('row').filter({ hasText: 'order.shipped' }).first().waitFor()
    await faultless('event types with their volume')
    await open('/settings', 'Settings')
    await tab().getByLabel('Density').selectOption('compact')
    await open('/event-types', 'Event types')
    assert.equal(await tab().evaluate('document.documentElement.dataset.density'), 'compact')
    await faultless('compact rows')
    assert.deepEqual(faults(), [])
  })
})
