import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { consoleOfSuite } from '../../support/console.ts'
import { eventually } from '../../support/shop.ts'
import { until } from '../page.ts'
import { type FailingShop, openFailingShop, repairer } from './failing-shop.ts'

describe('repairing deliveries in the console', () => {
  let world: FailingShop | undefined
  const { tab, faults, heading, open, press, faultless, fitsPhone } = consoleOfSuite({
    start: async () => {
      world = await openFailingShop()
      return world.program
    },
    first: ['/', 'Overview'],
    person: { username: repairer.id, password: repairer.password },
  })
  after(() => world?.stop())
  const shop = () => world ?? assert.fail('there is no shop')
  /** What the provider took, each delivery once. */
  const countSent = () => {
    const ids = shop().provider.requests.map(({ delivery_id }) => delivery_id)
    assert.equal(new Set(ids).size, ids.length, 'no delivery was sent twice')
    return ids.length
  }
  const progress = () => tab().getByRole('region', { name: 'Progress of the replay' })
  /** Until as many were sent in all: the progress of the replay before says so of its own deliveries until it is replaced. */
  const finished = async (sent: number) => {
    await eventually(
      async () => countSent(),
      (count) => count >= sent,
    )
    await progress().getByText('Everything that was replayed has an outcome.').waitFor()
  }

  testWith('chromium', 'by mouse: a group is found, five are tried, the rest replayed, others discarded', async () => {
    await shop().fail('order.shipped', 12)
    await shop().fail('order.delayed', 3)
    await tab().getByRole('link', { name: 'Dead letters' }).click()
    await heading('Dead letters')
    await tab().getByText('The provider rejected the message.').waitFor()
    await tab().getByText('Event', { exact: true }).first().click()
    await tab().getByRole('button', { name: 'Open: order.shipped' }).click()
    const replay = tab().getByRole('region', { name: 'Replay', exact: true })
    await replay.getByText('12 match.').waitFor()
    // From here on the provider takes what it is sent: whoever looks after it has repaired it.
    await replay.getByRole('button', { name: 'Try 5' }).click()
    await finished(5)
    assert.equal(countSent(), 5)
    await progress().getByText('sent', { exact: true }).first().waitFor()
    await faultless('the progress of a replay')
    await replay.getByText('7 match.').waitFor()
    await replay.getByLabel('When').selectOption('rate')
    await replay.getByLabel('How many a second').fill('20')
    await replay.getByRole('button', { name: 'Replay the rest' }).click()
    await tab().getByText('Nothing matches the filters.').first().waitFor()
    await finished(12)
    assert.equal(countSent(), 12)
    await progress().getByRole('button', { name: 'Close' }).click()
    await tab().getByRole('button', { name: 'Clear filters' }).click()
    await replay.getByRole('button', { name: 'Discard 3' }).click()
    const dialog = tab().getByRole('dialog')
    await dialog.getByLabel('Type 3 to confirm.').fill('3')
    await dialog.getByRole('button', { name: 'Discard 3' }).click()
    await tab().getByText('Nothing has failed for good.').first().waitFor()
    assert.equal(countSent(), 12)
  })

  testWith('chromium', 'by keyboard: a group is found, five are tried, and the rest replayed', async () => {
    const before = countSent()
    await shop().fail('order.shipped', 8)
    await open('/users', 'Users')
    await tab().keyboard.press('g')
    await tab().keyboard.press('d')
    await heading('Dead letters')
    await press('Open: permanent')
    await tab().getByText('8 match.').waitFor()
    await press('Try 5')
    await finished(before + 5)
    assert.equal(countSent() - before, 5)
    await tab().getByText('3 match.').waitFor()
    await press('Replay the rest')
    await tab().getByText('Nothing matches the filters.').first().waitFor()
    await finished(before + 8)
    assert.equal(countSent() - before, 8)
  })

  testWith('chromium', 'a replay that is stopped gives back what was not sent', async () => {
    const before = countSent()
    await shop().fail('order.shipped', 4)
    await open('/dead-letters', 'Dead letters')
    const replay = tab().getByRole('region', { name: 'Replay', exact: true })
    await replay.getByLabel('When').selectOption('at')
    await replay.getByLabel('Begin at').fill('2090-01-01T00:00')
    await replay.getByRole('button', { name: 'Replay all' }).click()
    await progress().getByRole('button', { name: 'Stop' }).click()
    await tab().getByRole('dialog').getByRole('button', { name: 'Stop' }).click()
    await replay.getByText('4 match.').waitFor()
    assert.equal(countSent(), before)
  })

  testWith('chromium', 'providers change places, and one is paused, tested and resumed', async () => {
    await open('/providers', 'Providers')
    await tab().getByRole('button', { name: 'Move up: spare' }).click()
    await tab().getByRole('button', { name: 'Move down: spare' }).waitFor()
    await until(tab(), "document.querySelector('table[aria-label=email] tbody tr').innerText.includes('spare')")
    await tab().getByRole('button', { name: 'Pause: spare' }).click()
    await tab().getByLabel('For how long').selectOption('until it is resumed')
    await tab().getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
    await tab().getByText('until it is resumed').waitFor()
    await tab().getByRole('link', { name: 'spare' }).click()
    await heading('spare')
    await tab().getByText('No report came yet').waitFor()
    await tab().getByLabel('Address').fill('ops@example.com')
    await tab().getByRole('button', { name: 'Test call' }).click()
    await tab()
      .getByText(/^Accepted in \d+ ms\./)
      .waitFor()
    await tab().getByRole('button', { name: 'Resume: spare' }).click()
    await tab().getByText('healthy').waitFor()
    // Another administrator is faster: the first change wins, and this page says so.
    await open('/providers', 'Providers')
    await tab().route('**/v1/providers/order', async (route) => {
      await shop().call('PUT', '/v1/providers/order', { channel: 'email', providers: ['post', 'spare'] })
      await route.continue()
    })
    await tab().getByRole('button', { name: 'Move down: spare' }).click()
    await tab().getByText('Somebody else changed it meanwhile.').waitFor()
    await tab().unroute('**/v1/providers/order')
  })

  testWith(
    'chromium',
    'what waits is moved, cancelled and flushed, and a complaint is lifted with a reason',
    async () => {
      const payload = { event: 'order.shipped', user_id: 'customer-1', data: { id: 'A-1' } }
      await shop().call('POST', '/v1/scheduled', { fire_at: '2090-01-01T00:00:00Z', payload })
      await open('/scheduled', 'Scheduled')
      await tab().getByRole('button', { name: 'Move: order.shipped customer-1' }).click()
      await tab().getByLabel('New time').fill('2091-06-01T12:00')
      await tab().getByRole('dialog').getByRole('button', { name: 'Move' }).click()
      await tab()
        .getByText(/1 Jun 2091/)
        .waitFor()
      await tab().getByRole('button', { name: 'Cancel: order.shipped customer-1' }).click()
      await tab().getByRole('dialog').getByRole('button', { name: 'Cancel' }).last().click()
      await tab().getByText('Nothing is scheduled.').waitFor()
      const aggregation = { threshold: 9, actor: 'actor' }
      await shop().call('PUT', '/v1/event-types/order.shipped', { channels: ['email'], aggregation })
      const before = countSent()
      await shop().call('POST', '/v1/notify', payload)
      await tab().getByText('Gathered', { exact: true }).click()
      await tab().getByRole('button', { name: 'Flush: order.shipped' }).click()
      await tab().getByRole('dialog').getByRole('button', { name: 'Flush' }).click()
      await tab().getByText('No window gathers events.').waitFor()
      const deadline = AbortSignal.timeout(60_000)
      while (countSent() === before) {
        assert.ok(!deadline.aborted, 'what was flushed never came to the provider')
        await tab().evaluate('new Promise(requestAnimationFrame)')
      }
      const suppression = { user_id: 'customer-2', channel: 'email', reason: 'complained' }
      await shop().call('POST', '/v1/suppressions', suppression)
      await open('/suppressions', 'Suppressions')
      await tab().getByRole('button', { name: 'Lift: customer-2 email' }).click()
      await tab().getByRole('dialog').getByLabel('Reason').fill('asked for it by phone')
      await tab().getByRole('dialog').getByRole('button', { name: 'Lift' }).click()
      await tab().getByText('Nobody is suppressed.').waitFor()
    },
  )

  testWith('chromium', 'each screen with data is without a fault of accessibility, and fits 320 pixels', async () => {
    const payload = { event: 'order.delayed', user_id: 'customer-3', data: { id: 'A-3' } }
    await shop().call('POST', '/v1/scheduled', { fire_at: '2090-01-01T00:00:00Z', payload })
    await shop().call('POST', '/v1/suppressions', { user_id: 'customer-4', channel: 'email', reason: 'complained' })
    await shop().fail('order.delayed', 2)
    const screens = [
      ['/dead-letters', 'Dead letters'],
      ['/dead-letters?by=fingerprint&event=order.delayed', 'Dead letters'],
      ['/scheduled', 'Scheduled'],
      ['/providers', 'Providers'],
      ['/providers/post', 'post'],
      ['/suppressions', 'Suppressions'],
    ] as const
    for (const [path, name] of screens) {
      await open(path, name)
      await faultless(path)
      await fitsPhone()
    }
    assert.deepEqual(faults(), [], 'no page broke a rule')
  })
})
