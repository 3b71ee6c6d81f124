import { isZone, maxPlaceLength } from '@gatehouse/kit'
import type { Channel } from '../model/channel.ts'
import { type QuietHours, timeOfDayPattern } from '../model/delivery/quiet-hours.ts'
import type { Switches } from '../preferences/choices.ts'

const timeOfDay = new RegExp(timeOfDayPattern)

/**
 * What was switched on the form of an event type, against what it showed: a page that is out of date changes nothing but
 * what was changed on it. Nothing for an event type that was not on it.
 */
export function readSwitches(form: URLSearchParams, event: string, offered: readonly Channel[]): Switches {
  const shown = form.get(`was:${event}`)?.split(' ')
  const checked = form.getAll(`on:${event}`)
  const switched = (to: boolean) =>
    offered.filter((channel) => shown && checked.includes(channel) === to && shown.includes(channel) !== to)
  return { on: switched(true), off: switched(false) }
}

/** Quiet hours as the form has them: both times, or neither. */
export function readQuietHours(form: URLSearchParams): QuietHours | undefined | 'as it was' | 'wrong' {
  const [start, end] = [form.get('quiet_start'), form.get('quiet_end')]
  if (start === null && end === null) return 'as it was'
  if (`${start} ${end}`.trim() === form.get('was_quiet')) return 'as it was'
  if (!start && !end) return undefined
  return timeOfDay.test(start ?? '') && timeOfDay.test(end ?? '') ? { start: start ?? '', end: end ?? '' } : 'wrong'
}

/** The time zone as the form has it; undefined where it is left empty or as it was. */
export function readZone(form: URLSearchParams): string | undefined | 'wrong' {
  const zone = form.get('zoneinfo')?.trim() ?? ''
  if (zone === '' || zone === form.get('was_zoneinfo')) return undefined
  return zone.length <= maxPlaceLength && isZone(zone) ? zone : 'wrong'
}
