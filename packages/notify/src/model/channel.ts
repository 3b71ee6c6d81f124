/** The channels a notification may take, as the notify request and the preferences name them. */
export const channels = ['push', 'email', 'sms', 'in-app'] as const

/** One of the channels. */
export type Channel = (typeof channels)[number]

/** Whether `name` is one of {@link channels}. */
export function isChannel(name: string): name is Channel {
  return (channels as readonly string[]).includes(name)
}

/** The chosen channels without repetition, in the order of {@link channels}. */
export function sortChannels(chosen: readonly Channel[]): readonly Channel[] {
  return chosen.length < 2 ? chosen : channels.filter((channel) => chosen.includes(channel))
}
