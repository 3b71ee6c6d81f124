import type { content as actions } from '@gatehouse/console/actions'
import type { Cases, RoleName } from './case.ts'

const template = { template_id: 'order.shipped' }
const text = { ...template, channel: 'email', locale: 'en' }
const words = { subject: 'Order', body: 'It left.' }
/** A text of a role's own, so that none of them depends on what another did. */
const own = (role: RoleName) => ({ template_id: `text-of-${role}`, channel: 'sms', locale: 'en' })

/** A call for each action of this part. */
export const content: Cases<keyof typeof actions> = {
  readEventType: () => ({ params: { event: 'order.shipped' } }),
  saveEventType: (role) => ({ params: { event: `event-of-${role}` }, body: { channels: ['email'] } }),
  simulateEventType: () => ({
    params: { event: 'order.shipped' },
    body: { settings: { channels: ['email'] }, time_zones: ['UTC'], events: [{ at: '2026-01-01T00:00:00Z' }] },
  }),
  deleteEventType: (role) => ({ params: { event: `event-of-${role}` } }),
  listTemplates: () => ({ query: { summary: 'true' } }),
  listVersions: () => ({ params: template }),
  readVersion: () => ({ params: { ...text, version: '1' } }),
  readText: () => ({ params: text }),
  saveText: (role) => ({ params: own(role), body: { body: words.body } }),
  publishText: (role) => ({ params: own(role), body: { version: 1 } }),
  withdrawText: (role) => ({ params: own(role) }),
  previewTemplate: () => ({ params: template, body: { data: {} } }),
  testTemplate: () => ({ params: template, body: { channel: 'email', user_id: 'target', data: {}, draft: words } }),
  readSamples: () => ({ params: template }),
  saveSamples: () => ({ params: template, body: { items: [{ name: 'one', data: {} }] } }),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const contentMayFindNothing: readonly (keyof typeof actions)[] = []
