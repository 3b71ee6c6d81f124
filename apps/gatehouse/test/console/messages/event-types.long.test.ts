import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { consoleOfSuite } from '../../support/console.ts'
import { started } from '../../support/program.ts'

describe('an event type in the console', () => {
  const { tab, faults, open, faultless, fitsPhone, press, reach } = consoleOfSuite({
    start: () => started(),
    first: ['/event-types', 'Event types'],
  })
  const part = (name: string) => tab().getByRole('region', { name, exact: true })
  const rowsIn = (zone: string) => part(zone).getByRole('row')
  const fillIn = (label: string, value: string) => part('Simulate').getByLabel(label, { exact: true }).fill(value)

  testWith('chromium', 'a day of quiet hours is simulated in three zones, one of which loses an hour', async () => {
    await open('/event-types/order.shipped', 'order.shipped')
    for (const [nth, zone] of ['Europe/Berlin', 'America/New_York', 'Asia/Tokyo'].entries())
      await fillIn(`Time zone ${nth + 1}`, zone)
    await fillIn('Day', '2026-03-29')
    await part('Simulate').getByRole('button', { name: 'An event each hour of it (UTC)' }).click()
    await part('Simulate').getByRole('button', { name: 'Simulate', exact: true }).click()
    await part('Europe/Berlin').getByText('24 messages; 10 after quiet hours, 0 expired.').waitFor()
    await part('Europe/Berlin').getByText('(9 h)').waitFor()
    await part('Asia/Tokyo').getByText('24 messages; 10 after quiet hours, 0 expired.').waitFor()
    await rowsIn('Europe/Berlin')
      .filter({ hasText: '08:00' })
      .filter({ hasText: 'quiet hours until' })
      .first()
      .waitFor()
    assert.equal(await rowsIn('Europe/Berlin').count(), 25)
    await faultless('a simulation')
    await fitsPhone()
  })

  testWith('chromium', 'pasted events show what would be combined, before it is saved, by keyboard', async () => {
    await open('/event-types/order.shipped', 'order.shipped')
    await reach(tab().getByLabel('Combine bursts into one message'))
    await tab().keyboard.press('Space')
    await reach(tab().getByLabel('Combine above'))
    await tab().keyboard.type('2')
    await reach(tab().getByLabel('Who did it: a path in data'))
    await tab().keyboard.type('actor')
    const text = part('Simulate').getByLabel('Events', { exact: true })
    await reach(text)
    await tab().keyboard.press('ControlOrMeta+a')
    const eventOf = (actor: string, second: number) =>
      JSON.stringify({ at: `2026-03-29T12:00:0${second}Z`, user_id: 'bob', data: { actor } })
    const lines = [
      eventOf('Ann', 0),
      'no event',
      eventOf('Ben', 1),
      ...['Ann', 'Ben'].map((actor) => eventOf(actor, 2)),
    ]
    await tab().keyboard.insertText(lines.join('\n'))
    await part('Simulate').getByText('These lines are no events, and left out: 2').waitFor()
    await press('Simulate')
    await tab().getByText('4 events of 2 people').first().waitFor()
    assert.match((await rowsIn('America/New_York').last().textContent()) ?? '', /gathered until .*08:05/)
    assert.deepEqual(faults(), [])
  })

  testWith('chromium', 'a zone that is none is named', async () => {
    await fillIn('Time zone 1', 'Europe/Atlantis')
    await part('Simulate').getByRole('button', { name: 'Simulate', exact: true }).click()
    await tab().getByText('names no time zone: Europe/Atlantis').waitFor()
  })
})
