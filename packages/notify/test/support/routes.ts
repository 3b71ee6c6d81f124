import type { World } from './management.ts'

/** One way to call a route, and what it means to the audit trail. */
export interface Case {
  readonly path: (world: World) => string
  readonly body?: (world: World) => object
  /** The action in the audit trail when the management does it; undefined where nothing changes. */
  readonly action?: string
  /** Why personal data is not masked in its answer. */
  readonly unmasked?: string
}

const event = ({ userId, person }: World) => ({
  event: 'order.shipped',
  user_id: userId,
  data: { item: person.value, person: { name: person.name } },
})
const of =
  (rest: string = '') =>
  ({ userId }: World) =>
    `/v1/users/${userId}${rest}`
const change = (action: string, path: Case['path'], body?: Case['body']): Case => ({
  path,
  action,
  ...(body ? { body } : {}),
})
const read = (path: Case['path'], body?: Case['body']): Case => ({ path, ...(body ? { body } : {}) })
const inbox = (what: string): Case => change(`inbox.${what}`, of(`/inbox/${what}`), ({ itemId }) => ({ ids: [itemId] }))

/** Every route under /v1 that asks who calls. A new one has to be added here, and so is covered. */
export const cases: Readonly<Record<string, Case>> = {
  'POST /v1/notify': change('notifications.send', () => '/v1/notify', event),
  'POST /v1/notify/bulk': change(
    'notifications.sendBulk',
    () => '/v1/notify/bulk',
    (world) => [event(world)],
  ),
  'POST /v1/explain': read(() => '/v1/explain', event),
  'GET /v1/notifications': read(({ userId }) => `/v1/notifications?user_id=${userId}`),
  'GET /v1/notifications/:id': read(({ notificationId }) => `/v1/notifications/${notificationId}`),
  'GET /v1/notifications/:id/content': read(({ notificationId }) => `/v1/notifications/${notificationId}/content`),
  'POST /v1/notifications/:id/cancel': change(
    'notifications.cancel',
    ({ notificationId }) => `/v1/notifications/${notificationId}/cancel`,
    () => ({ channels: ['sms'] }),
  ),
  'POST /v1/notifications/:id/resend': change(
    'notifications.resend',
    ({ notificationId }) => `/v1/notifications/${notificationId}/resend`,
    () => ({ channels: ['in-app'] }),
  ),

  'GET /v1/deliveries': read(() => '/v1/deliveries?provider_message_id=unknown'),
  'GET /v1/deliveries/:id': read(({ deadLetterId }) => `/v1/deliveries/${deadLetterId}`),

  'GET /v1/events': read(() => '/v1/events?limit=1000'),

  'POST /v1/scheduled': change(
    'scheduled.create',
    () => '/v1/scheduled',
    (world) => ({ fire_at: '2090-01-01T00:00:00Z', payload: event(world) }),
  ),
  'GET /v1/scheduled': read(({ userId }) => `/v1/scheduled?user_id=${userId}`),
  'GET /v1/scheduled/:id': read(({ scheduledId }) => `/v1/scheduled/${scheduledId}`),
  'PATCH /v1/scheduled/:id': change(
    'scheduled.move',
    ({ scheduledId }) => `/v1/scheduled/${scheduledId}`,
    () => ({ fire_at: '2091-01-01T00:00:00Z' }),
  ),
  'DELETE /v1/scheduled/:id': change('scheduled.cancel', ({ scheduledId }) => `/v1/scheduled/${scheduledId}`),

  'GET /v1/pending': read(() => '/v1/pending?kind=deferred'),
  'GET /v1/queue': read(() => '/v1/queue'),
  'GET /v1/stats': read(() => '/v1/stats?measure=outcomes&by=channel'),

  'GET /v1/dead-letters': read(() => '/v1/dead-letters?limit=200'),
  'GET /v1/dead-letters/summary': read(
    ({ userId }) => `/v1/dead-letters/summary?group_by=fingerprint&user_id=${userId}`,
  ),
  'GET /v1/replays/:batch_id': read(({ notificationId }) => `/v1/replays/${notificationId}`),
  'GET /v1/dead-letters/:id': read(({ deadLetterId }) => `/v1/dead-letters/${deadLetterId}`),
  'POST /v1/dead-letters/replay': change(
    'dead-letters.replay',
    () => '/v1/dead-letters/replay',
    ({ userId }) => ({ user_id: userId, at: '2090-01-01T00:00:00Z' }),
  ),
  'POST /v1/dead-letters/:id/replay': change(
    'dead-letters.replay',
    ({ deadLetterId }) => `/v1/dead-letters/${deadLetterId}/replay`,
  ),
  'POST /v1/dead-letters/discard': change(
    'dead-letters.discard',
    () => '/v1/dead-letters/discard',
    ({ userId }) => ({ user_id: userId }),
  ),
  'DELETE /v1/dead-letters/:id': change(
    'dead-letters.discard',
    ({ deadLetterId }) => `/v1/dead-letters/${deadLetterId}`,
  ),

  'GET /v1/providers': read(() => '/v1/providers'),
  'GET /v1/providers/order': read(() => '/v1/providers/order?channel=email'),
  'PUT /v1/providers/order': change(
    'providers.order',
    () => '/v1/providers/order',
    () => ({ channel: 'email', providers: ['quoting-email'] }),
  ),
  'GET /v1/providers/:name': read(() => '/v1/providers/quoting-email'),
  'POST /v1/providers/:name/pause': change(
    'providers.pause',
    () => '/v1/providers/quoting-email/pause',
    () => ({ until: '2090-01-01T00:00:00Z' }),
  ),
  'POST /v1/providers/:name/test': change(
    'providers.test',
    () => '/v1/providers/quoting-email/test',
    ({ person }) => ({ to: person.email }),
  ),
  'POST /v1/providers/:name/resume': change('providers.resume', () => '/v1/providers/quoting-email/resume'),

  'GET /v1/event-types': read(() => '/v1/event-types'),
  'GET /v1/event-types/:event': read(() => '/v1/event-types/order.shipped'),
  'PUT /v1/event-types/:event': change(
    'event-types.update',
    () => '/v1/event-types/order.shipped',
    () => ({ channels: ['in-app'], title: 'Your order' }),
  ),
  'POST /v1/event-types/:event/simulate': read(
    () => '/v1/event-types/order.shipped/simulate',
    () => ({ settings: { channels: ['email'] }, time_zones: ['UTC'], events: [{ at: '2026-01-01T00:00:00Z' }] }),
  ),
  'DELETE /v1/event-types/:event': change('event-types.delete', () => '/v1/event-types/order.shipped'),

  'GET /v1/templates': read(() => '/v1/templates'),
  'GET /v1/templates/:template_id': read(() => '/v1/templates/order.shipped'),
  'GET /v1/templates/:template_id/:channel/:locale': read(() => '/v1/templates/order.shipped/sms/en'),
  'GET /v1/templates/:template_id/:channel/:locale/:version': read(() => '/v1/templates/order.shipped/sms/en/1'),
  'GET /v1/templates/:template_id/samples': read(() => '/v1/templates/order.shipped/samples'),
  'PUT /v1/templates/:template_id/samples': change(
    'templates.samples',
    () => '/v1/templates/order.shipped/samples',
    ({ person }) => ({ items: [{ name: 'one', data: { item: person.value, person: { name: person.name } } }] }),
  ),
  'PUT /v1/templates/:template_id/:channel/:locale': change(
    'templates.save',
    () => '/v1/templates/order.shipped/sms/en',
    () => ({ body: 'Other words' }),
  ),
  'DELETE /v1/templates/:template_id/:channel/:locale': change(
    'templates.withdraw',
    () => '/v1/templates/order.shipped/sms/en',
  ),
  'POST /v1/templates/:template_id/:channel/:locale/publish': change(
    'templates.publish',
    () => '/v1/templates/order.shipped/sms/en/publish',
    () => ({ version: 1 }),
  ),
  'POST /v1/templates/:template_id/preview': {
    ...read(
      () => '/v1/templates/order.shipped/preview',
      () => ({ channels: ['sms'], data: { item: 'a sample' } }),
    ),
    unmasked: 'it renders the sample of the caller, and knows no user',
  },
  'POST /v1/templates/:template_id/test': change(
    'templates.test',
    () => '/v1/templates/order.shipped/test',
    ({ userId, person }) => ({ channel: 'email', user_id: userId, data: { item: person.value } }),
  ),

  'GET /v1/recipients/:user_id': read(({ userId }) => `/v1/recipients/${userId}`),
  'PUT /v1/recipients/:user_id': change(
    'recipients.update',
    ({ userId }) => `/v1/recipients/${userId}`,
    ({ person }) => ({ email: `other-${person.email}`, phone_number: person.phone }),
  ),
  'PUT /v1/recipients': change(
    'recipients.import',
    () => '/v1/recipients',
    ({ userId, person }) => ({ recipients: [{ user_id: userId, email: `other-${person.email}` }] }),
  ),
  'DELETE /v1/recipients/:user_id': change('recipients.delete', ({ userId }) => `/v1/recipients/${userId}`),
  'POST /v1/recipients/search': read(
    () => '/v1/recipients/search',
    ({ person }) => ({ email: person.email }),
  ),
  'POST /v1/recipients/:user_id/reveal': {
    ...change(
      'recipients.reveal',
      ({ userId }) => `/v1/recipients/${userId}/reveal`,
      () => ({ fields: ['email'], reason: 'ticket 4711' }),
    ),
    unmasked: 'it is what reveals',
  },

  'GET /v1/users/:id/preferences': read(of('/preferences')),
  'PUT /v1/users/:id/preferences': change('preferences.update', of('/preferences'), () => ({
    event_type: 'order.shipped',
    channels: [],
  })),
  'GET /v1/users/:id/preferences/:event_type': read(of('/preferences/order.shipped')),
  'PUT /v1/users/:id/preferences/:event_type': change('preferences.update', of('/preferences/order.shipped'), () => ({
    channels: ['sms'],
  })),
  'DELETE /v1/users/:id/preferences/:event_type': change('preferences.remove', of('/preferences/order.shipped')),

  'GET /v1/users/:id/standing': read(of('/standing')),
  'GET /v1/users/:id/choices': read(of('/choices')),
  'PUT /v1/users/:id/choices': change('choices.unsubscribe', of('/choices'), () => ({ unsubscribed: true })),
  'PUT /v1/users/:id/choices/:event': change('choices.set', of('/choices/order.shipped'), () => ({
    channels: ['sms'],
  })),
  'PATCH /v1/users/:id/choices/:event': change('choices.switch', of('/choices/order.shipped'), () => ({
    off: ['sms'],
  })),

  'GET /v1/users/:id/devices': read(of('/devices')),
  'PUT /v1/users/:id/devices/:device_id': change('devices.register', of('/devices/tablet'), ({ person }) => ({
    token: `${person.token}-tablet`,
  })),
  'DELETE /v1/users/:id/devices/:device_id': change('devices.remove', of('/devices/phone')),

  'GET /v1/suppressions': read(({ userId }) => `/v1/suppressions?user_id=${userId}`),
  'POST /v1/suppressions/search': read(
    () => '/v1/suppressions/search',
    ({ userId }) => ({ user_id: userId }),
  ),
  'POST /v1/suppressions': change(
    'suppressions.add',
    () => '/v1/suppressions',
    ({ userId, person }) => ({ user_id: userId, channel: 'sms', address: person.phone }),
  ),
  'DELETE /v1/suppressions': change('suppressions.lift', ({ userId }) => `/v1/suppressions?user_id=${userId}`),
  'DELETE /v1/suppressions/:suppression_id': change(
    'suppressions.lift',
    ({ suppressionId }) => `/v1/suppressions/${suppressionId}`,
  ),
  'GET /v1/users/:id/suppressions': read(of('/suppressions')),
  'DELETE /v1/users/:id/suppressions/:suppression_id': change(
    'suppressions.lift',
    ({ userId, ownSuppressionId }) => `/v1/users/${userId}/suppressions/${ownSuppressionId}`,
  ),

  'GET /v1/users/:id/inbox': read(of('/inbox')),
  'GET /v1/users/:id/inbox/counts': read(of('/inbox/counts')),
  'POST /v1/users/:id/inbox/seen': inbox('seen'),
  'POST /v1/users/:id/inbox/read': inbox('read'),
  'POST /v1/users/:id/inbox/unread': inbox('unread'),
  'POST /v1/users/:id/inbox/archived': inbox('archived'),
  'POST /v1/users/:id/inbox/unarchived': inbox('unarchived'),

  'GET /v1/users/:id/data': {
    ...change('users.export', of('/data')),
    unmasked: 'it hands everything out, to callers with the scope that includes reading it',
  },
  'DELETE /v1/users/:id/data': {
    ...change('users.erase', of('/data')),
    unmasked: 'whoever may erase it may read it',
  },
}

/** Routes that are not called here, and why. */
export const others: Readonly<Record<string, string>> = {
  'POST /v1/reserved-mails': 'the services alone hold its scope: test/reserved.test.ts calls it',
  'POST /v1/parked/:event/release': 'events are parked by the topic: a test of its own releases some',
  'POST /v1/replays/:batch_id/stop': 'a replay has an id that its answer alone names: a test of its own stops some',
  'POST /v1/pending/:id/release': 'what waits has ids that a list alone names: a test of its own releases some',
  'GET /v1/notifications/:id/stream': 'it does not end: a test of its own reads it',
  'GET /v1/users/:id/inbox/stream': 'it does not end: a test of its own reads it',
  'POST /v1/webhooks/:provider': 'providers report there, who sign what they send',
}

/** Routes that no case knows, and cases that no route has. */
export function uncovered(routes: readonly string[]): string[] {
  const known = new Set([...Object.keys(cases), ...Object.keys(others)])
  const ours = routes.filter((route) => route.includes(' /v1/'))
  return [...ours.filter((route) => !known.has(route)), ...[...known].filter((route) => !ours.includes(route))]
}

export type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

export const methodOf = (route: string): Method => route.split(' ', 1)[0] as Method
