/** The priorities of event types, the highest first. */
export const priorities = ['critical', 'normal', 'low'] as const

/** `critical` (security, payments) bypasses caps and quiet hours and overtakes; `low` gives way to the others. */
export type Priority = (typeof priorities)[number]
