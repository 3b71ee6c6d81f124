import type { LimitRejection } from '@gatehouse/client'

/** Rejections in a row of one caller by one rule on one route. */
export interface RejectionGroup {
  /** The newest one. */
  readonly last: LimitRejection
  readonly firstAt: string
  readonly count: number
}

/** Joins rejections that follow one another and differ in nothing but their time, newest first. */
export function groupRejections(rejections: readonly LimitRejection[]): RejectionGroup[] {
  const groups: RejectionGroup[] = []
  for (const one of rejections) {
    const group = groups.at(-1)
    if (group !== undefined && isAlike(group.last, one))
      groups[groups.length - 1] = { ...group, firstAt: one.at, count: group.count + 1 }
    else groups.push({ last: one, firstAt: one.at, count: 1 })
  }
  return groups
}

function isAlike(one: LimitRejection, other: LimitRejection): boolean {
  return (
    one.rule === other.rule &&
    one.policy === other.policy &&
    one.route === other.route &&
    one.source === other.source &&
    one.identifier.kind === other.identifier.kind &&
    one.identifier.id === other.identifier.id
  )
}
