/** The words of the component; replace some or all by the property `texts`. `{n}` is a number. */
export const english = {
  bell: 'Notifications',
  unseen: 'Notifications, {n} new',
  title: 'Notifications',
  all: 'All',
  unread: 'Unread',
  markAll: 'Mark all as read',
  preferences: 'Preferences',
  back: 'Back to notifications',
  close: 'Close',
  markRead: 'Mark as read',
  markUnread: 'Mark as unread',
  archive: 'Archive',
  more: 'Show more',
  empty: 'Nothing here yet.',
  offline: 'Not connected. Trying again…',
  failed: 'That did not work. Please try again.',
  arrived: 'New: {text}',
  unreadItem: 'Unread',
  unsubscribe: 'Unsubscribe from everything',
  resubscribe: 'Subscribe again',
  unsubscribed: 'You are unsubscribed. Only critical messages, such as security alerts, still reach you.',
  email: 'Email',
  push: 'Push',
  sms: 'SMS',
  'in-app': 'Inbox',
}

/** The texts of the component by their name. */
export type Texts = Readonly<Record<keyof typeof english, string>>
