import { operationsOf } from '@gatehouse/kit'

/** What the API document says about each operation: its id, which names the call in generated clients, a summary and a description. */
export const operation = operationsOf({
  'notifications.send': [
    'Notify a user of an event',
    'Accepts an event. It is stored when this is answered; its deliveries follow. A repeated `dedup_key` sends nothing again.',
  ],
  'notifications.sendBulk': [
    'Notify of up to 10,000 events',
    'A JSON array, or one JSON object per line. The response has one line for each event, in order: `status` 202 with the acceptance, or another status with the problem.',
  ],
  'reservedMails.send': [
    'Send a mail of a reserved event type',
    'For the service that reserved event types belong to. The mail goes to the `email` in the body, a text message to the `phone_number`, whatever is stored of the user; exactly one of them is required. A repeated `dedup_key` sends nothing again.',
  ],
  'notifications.explain': [
    'Explain what a user would receive',
    'Takes the same body as `notifications.send` and answers which channels would be used, with the decision behind each, now or `at` another time. Nothing is stored or sent.',
  ],
  'notifications.list': [
    'Search notifications',
    'The newest first. It looks back for two seconds or at 50,000 rows at most: `searched_until` says how far, and `next` goes on from there. All filters of deliveries must hold for one delivery. Without `user_id` it needs a scope for reading deliveries.',
  ],
  'notifications.get': ['Read a notification', 'Its deliveries, their states, and every decision in the timeline.'],
  'notifications.content.get': [
    'Read what a notification said',
    'Of each channel the text that was sent last, rendered again from the version of its template and the data of its event, and that data. The footer of mails, tracked links and tokens are not in it.',
  ],
  'notifications.cancel': [
    'Cancel a notification',
    'Ends what waits to be sent: what is queued, deferred or gathered. What a worker has at that moment is `under_way`, and is not cancelled. Neither the cap nor the dedup key is given back.',
  ],
  'notifications.resend': [
    'Send a notification again',
    'Accepts its event once more, with its data, as a new notification on these channels. Caps, quiet hours and suppressions apply. With a `dedup_key` a repeated call sends nothing again. 409 where the data was erased.',
  ],
  'notifications.stream': [
    'Follow a notification',
    'Events `timeline` (an entry, with its `id`) and `delivery` (a delivery as it is now), beginning with all there is. Send the id of the last event as Last-Event-ID to go on from there: an entry of the last seconds may come again, by its `id`. Ends with the token.',
  ],
  'deliveries.list': [
    'Find deliveries by the id of a provider',
    'Those that a provider knows by its own id of the message. It looks back for two seconds or at 50,000 rows at most: `searched_until` says how far, and `next` goes on from there.',
  ],
  'deliveries.get': ['Read a delivery', 'One message on one channel: its state, and every attempt with its results.'],
  'events.read': [
    'Read state changes of deliveries',
    'All of them, in one order. Resume with the `next` of the page as `cursor`; no change is left out or comes twice. With `wait` an empty page is answered late. 410 names the oldest cursor that can be read from.',
  ],
  'scheduled.create': [
    'Schedule a notification',
    'Stores a notification that is sent at `fire_at`; preferences and caps are applied then.',
  ],
  'scheduled.list': [
    'List scheduled notifications',
    'The soonest first. Without `user_id` it needs a scope for reading deliveries.',
  ],
  'scheduled.move': [
    'Move a scheduled notification',
    'Has it fire at another time. One that has fired is not found, and one that fires at that moment is a conflict.',
  ],
  'pending.list': [
    'List what waits',
    'Deliveries that are deferred, and windows that gather events, the soonest first; parked events are counted by event type.',
  ],
  'pending.release': [
    'Release what waits',
    'Flushes a window, or plans a deferred delivery, now. What waits for the end of quiet hours is a conflict.',
  ],
  'parked.release': [
    'Release parked events',
    'Lets events of a type that wait for their turn follow now, the oldest first, past the rate of their type.',
  ],
  'queue.get': [
    'Read the depth of the queue',
    'By channel and priority how many deliveries are due, wait for another attempt, or are with a worker.',
  ],
  'stats.get': [
    'Read statistics',
    'Sums over time of what processes counted: minutes are kept for 7 days, hours for 400. With PROMETHEUS_URL they are read there.',
  ],
  'scheduled.get': ['Read a scheduled notification', 'One that has fired is not found.'],
  'scheduled.cancel': ['Cancel a scheduled notification', 'One that has fired is not found.'],
  'deadLetters.list': ['List dead letters', 'Deliveries that failed for good, newest first.'],
  'deadLetters.get': ['Read a dead letter', 'With the timeline of its notification.'],
  'deadLetters.discard': ['Discard a dead letter', 'It is not delivered again.'],
  'deadLetters.replayMany': [
    'Replay dead letters',
    'Delivers those that the filters match again, at once, at a time or at a rate, but for those that will have expired. `dry_run` counts them.',
  ],
  'deadLetters.summary.get': [
    'Group dead letters',
    'By cause, provider, event type or what they died of, with the last one of each group. It looks at the last 20,000.',
  ],
  'replays.get': [
    'Read the progress of a replay',
    'What became of the letters that one call replayed, for 30 days. A letter of a scheduled event counts until it fires.',
  ],
  'replays.stop': [
    'Stop a replay',
    'What it has not sent yet becomes a dead letter again, as it was. What a worker has at that moment is sent.',
  ],
  'deadLetters.replay': ['Replay a dead letter', 'Delivers it again at once; one that has expired is refused.'],
  'deadLetters.discardMany': ['Discard dead letters', 'Discards those that the filters match. `dry_run` counts them.'],
  'providers.list': ['List providers', 'By channel, the preferred one first, with the state of each breaker.'],
  'providers.get': [
    'Read a provider',
    'Its channel, its breaker, whether it is paused, and what it did in the last hour. The entity tag is that of its pause.',
  ],
  'providers.order.get': ['Read the order of providers', 'Those of a channel, the preferred first.'],
  'providers.order.update': [
    'Set the order of providers',
    'Every process follows it within seconds, and it outlives restarts. It must name each provider of the channel once.',
  ],
  'providers.pause': [
    'Pause a provider',
    'Within a second no process calls it. The next provider of its channel takes over; without one, messages wait as they do for one that is down.',
  ],
  'providers.resume': ['Resume a provider', 'Ends its pause; what its breaker says still counts.'],
  'providers.test': [
    'Call a provider with a test message',
    'One message to an address, at once, past its breaker and its pause. The result is returned, and not recorded.',
  ],
  'eventTypes.list': ['List event types', 'Those of the file and those stored here, ordered by name.'],
  'eventTypes.get': ['Read an event type', 'Its priority, channels, aggregation and limits.'],
  'eventTypes.update': ['Create or replace an event type', 'Members that are left out get their defaults.'],
  'eventTypes.simulate': [
    'Simulate an event type',
    'Takes events through settings, stored or not, for users with quiet hours in up to three time zones: what is gathered, what waits, what expires, and when each message is sent. Caps, duplicates and the rate limit are left out. Nothing is stored or sent.',
  ],
  'eventTypes.delete': ['Delete an event type', 'Its events are refused from then on.'],
  'templates.list': [
    'List texts',
    'The published ones, one entry for each template, channel and locale, in that order; with `summary` also those that are not published, without their words.',
  ],
  'templates.versions.list': [
    'List the versions of a template',
    'Every version of its texts, in every channel and locale; the highest first.',
  ],
  'templates.versions.get': ['Read a version of a text', 'Also one that is not published.'],
  'templates.texts.get': [
    'Read a text',
    'The published version of a text, or else the highest; its entity tag is for changes.',
  ],
  'templates.update': [
    'Store and publish a text',
    'Stores a new version of a text and publishes it. Earlier versions stay. 422 names the line and column of each fault.',
  ],
  'templates.delete': ['Unpublish a text', 'Takes a text out of use; its versions stay.'],
  'templates.publish': ['Publish a version of a text', 'Puts a stored version into use, also an earlier one.'],
  'templates.preview': [
    'Render texts with sample data',
    'Renders published texts, or a draft among them, of several channels and locales with the same data. Faults have their line and column. Nothing is sent.',
  ],
  'templates.samples.get': [
    'Read the sample data of a template',
    'What previews are made with. Callers who may not read personal data get types in place of the values.',
  ],
  'templates.samples.update': ['Store the sample data of a template', 'Replaces all samples.'],
  'templates.test': [
    'Send a text to a user as a test',
    'Sends the published text, or a draft, at once. Preferences, caps and the dedup log are not consulted.',
  ],
  'recipients.get': ['Read how a user can be reached', "The user's addresses, locale and time zone."],
  'recipients.update': ['Set how a user can be reached', 'Replaces the record; members that are left out are removed.'],
  'recipients.search': [
    'Search recipients',
    'By address, number or the beginning of the user id, in the body, where no log of a proxy keeps an address.',
  ],
  'recipients.reveal': [
    'Reveal addresses of a recipient',
    'Single addresses that are masked otherwise. The reason is kept in the audit trail.',
  ],
  'recipients.delete': ['Delete a recipient', 'The user can be reached in-app only from then on.'],
  'recipients.updateMany': [
    'Set how up to 1,000 users can be reached',
    'Replaces the records of the users that are named, in one transaction.',
  ],
  'users.preferences.list': [
    'List the preferences of a user',
    'One record for each event type that has one, and one for `*`.',
  ],
  'users.preferences.set': [
    'Set a preference named in the body',
    'As `users.preferences.update`, with the event type in the body.',
  ],
  'users.preferences.get': ['Read a preference', 'The channels and quiet hours of one event type, or of `*`.'],
  'users.preferences.update': [
    'Set a preference',
    'Replaces the record; members that are left out follow the one of `*`, then the defaults.',
  ],
  'users.preferences.delete': ['Delete a preference', 'The event type follows the one of `*`, then the defaults.'],
  'users.devices.list': ['List the devices of a user', 'Newest first, dead ones too; push tokens are never read back.'],
  'users.devices.register': [
    'Register a device or its new token',
    'Replaces the push token of the device. Where that makes more devices than a user may have, a dead one is dropped, or else the one that was registered the longest ago; the response names it.',
  ],
  'users.devices.delete': ['Delete a device', 'Nothing is pushed to it from then on.'],
  'users.standing.get': [
    'Read what limits what a user gets',
    'The caps and what is used of them, quiet hours, open aggregation windows, and which channels reach the user.',
  ],
  'users.choices.get': [
    'Read what a user may choose',
    'Every event type with the channels that the user may switch, and which are on.',
  ],
  'users.choices.unsubscribe': ['Unsubscribe a user, or take that back', 'From everything that is not critical.'],
  'users.choices.set': ['Set the channels of an event type', 'Switches the named channels on and the others off.'],
  'users.choices.update': [
    'Switch channels of an event type',
    'Switches the named channels on or off and leaves the others as they are.',
  ],
  'suppressions.list': [
    'List suppressions',
    'Addresses that receive nothing, or nothing of some event types; newest first.',
  ],
  'suppressions.search': [
    'Search suppressions',
    'As `suppressions.list`, with the filters in the body, where no log of a proxy keeps an address.',
  ],
  'suppressions.create': ['Add a suppression', 'Nothing that matches it is sent from then on.'],
  'suppressions.liftMany': [
    'Lift suppressions',
    'Lifts those that the filters match; at least one filter is required.',
  ],
  'suppressions.lift': ['Lift a suppression', 'The address receives notifications again.'],
  'users.suppressions.list': ['List the suppressions of a user', 'Newest first.'],
  'users.suppressions.lift': [
    'Take back an unsubscription',
    'Only what the user unsubscribed from; bounces and complaints are lifted by management.',
  ],
  'users.inbox.list': ['List the in-app feed of a user', 'Newest first, with the counts of unseen and unread items.'],
  'users.inbox.count': ['Count unseen and unread items', 'With the sequence number of the feed.'],
  'users.inbox.markSeen': ['Mark items as seen', 'They were on screen.'],
  'users.inbox.markRead': ['Mark items as read', 'And as seen.'],
  'users.inbox.markUnread': ['Mark items as unread', 'They stay seen.'],
  'users.inbox.archive': ['Archive items', 'The feed leaves them out.'],
  'users.inbox.unarchive': ['Unarchive items', 'The feed shows them again.'],
  'users.inbox.stream': [
    'Stream changes of the in-app feed',
    'Events `change` ({items, counts}: the items as they are now) and `reset` ({counts}: too far behind, read the feed again). The id of an event is counts.sequence; send the one of the feed you have read as Last-Event-ID. Ends with the token.',
  ],
  'users.data.export': ['Export the data of a user', 'Everything that is stored about a user.'],
  'users.data.erase': [
    'Erase the data of a user',
    'Everything that is stored about a user; pending deliveries are not sent.',
  ],
  'receipts.record': [
    'Report that messages arrived, were opened or clicked',
    'For the apps that receive them. The token of a push or an in-app item is the credential. A receipt counts once, however often it is sent; the response does not say whether the message is still known.',
  ],
  'opens.record': ['Record that a mail was opened', 'The image of a mail. An invalid token gets the same image.'],
  'clicks.record': ['Record a click and redirect', 'Where a tracked link of a mail leads first.'],
  'shortLinks.follow': [
    'Record a click and redirect',
    'Where a tracked link of an SMS, a push or an in-app item leads first.',
  ],
  'unsubscribePage.show': ['Show the page of an unsubscribe link', 'Asks whether to unsubscribe; changes nothing.'],
  'unsubscribePage.submit': [
    'Unsubscribe from an event type',
    'At once, also by one click in a mail program (RFC 8058).',
  ],
  'preferencesPage.show': ["Show a user's own preferences", 'What the preferences link of a mail opens.'],
  'preferencesPage.submit': ["Change a user's own preferences", 'By the form of the page.'],
  'webhooks.receive': [
    'Receive reports of a provider',
    'Deliveries, opens, clicks, bounces, complaints and unsubscriptions. The signature of the provider is the credential.',
  ],
})

/** The ids of this package's operations. */
export type OperationId = Parameters<typeof operation>[0]
