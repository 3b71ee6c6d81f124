import { type QuietHours, timeOfDayPattern } from '../quiet-hours.ts'

const timeOfDay = new RegExp(timeOfDayPattern)

/** Quiet hours as the form has them: both times, or neither. */
export function readQuietHours(form: URLSearchParams): QuietHours | undefined | 'wrong' {
  const [start, end] = [form.get('quiet_start') ?? '', form.get('quiet_end') ?? '']
  if (start === '' && end === '') return undefined
  return timeOfDay.test(start) && timeOfDay.test(end) ? { start, end } : 'wrong'
}

/** The time zone as the form has it; undefined where it is left empty. */
export function readZone(form: URLSearchParams): string | undefined | 'wrong' {
  const zone = form.get('zoneinfo')?.trim() ?? ''
  if (zone === '') return undefined
  try {
    Temporal.Now.zonedDateTimeISO(zone)
    return zone.length <= 100 ? zone : 'wrong'
  } catch {
    return 'wrong'
  }
}
