/** The groups of operations, by their names. */
const tags = [
  ['authorize', 'Pushed authorization requests.'],
  ['dead letters', 'Deliveries that failed for good: list, replay or discard them.'],
  ['deliveries', 'Messages on their way: find one, and see how many wait.'],
  ['devices', 'The push targets of a user.'],
  ['event types', 'What can be notified of: priority, channels, aggregation and caps.'],
  ['events', 'Changes of state of all deliveries, for analytics.'],
  ['gateway', 'Keys of the tokens that the gateway sends to upstreams.'],
  ['inbox', 'The in-app feed of a user.'],
  ['limits', 'Rate limits: tiers, policies and their counters.'],
  ['management', 'Clients, users, API keys, signing keys and the audit trail.'],
  ['metadata', 'Discovery documents and public keys.'],
  ['notifications', 'Send notifications for events, and read what became of them.'],
  ['operations', 'Health, metrics and this document.'],
  ['organizations', 'The organization of the token, for its members.'],
  ['pages', 'HTML pages for people: sign-in, consent, device codes and accounts.'],
  ['preferences', 'Which notifications a user receives, on which channels, and when.'],
  ['privacy', 'Export and erase what is known about a user.'],
  ['providers', 'Who sends on each channel: state, pause and test calls.'],
  ['recipients', 'How users can be reached.'],
  ['scheduled', 'Notifications that are sent at a later time.'],
  ['statistics', 'What was counted, over time.'],
  ['subscriptions', 'Pages that mails link to: unsubscribe and change preferences.'],
  ['suppressions', 'Addresses that receive nothing, or nothing of some event types.'],
  ['templates', 'The texts of notifications, versioned by channel and locale.'],
  ['token', 'Issue, introspect and revoke tokens.'],
  ['tracking', 'Receipts of apps, and links that record opens and clicks.'],
  ['userinfo', 'Claims about the user.'],
  ['users', 'The plans of users.'],
  ['webhooks', 'Reports of providers about deliveries.'],
] as const

/** The declarations of these tags. */
export function declaredTags(
  used: ReadonlySet<string>,
): readonly { readonly name: string; readonly description: string }[] {
  return tags.filter(([name]) => used.has(name)).map(([name, description]) => ({ name, description }))
}
