import { NativeSelect, type NativeSelectProps } from '@mantine/core'
import { useRead } from '../../../api/queries.ts'
import { useTexts } from '../../../texts/settings.tsx'

/** The choice of the tier or policy that counts a client in place of tiers. One that is gone stays until it is changed. */
export function PolicyField({ value, ...field }: Omit<NativeSelectProps, 'data' | 'label'>) {
  const t = useTexts()
  const { data } = useRead('readLimitSettings')
  const names = [...Object.keys(data?.policies ?? {}), ...Object.keys(data?.tiers ?? {})].sort()
  const isGone = typeof value === 'string' && value !== '' && !names.includes(value)
  const choices = (isGone ? [value, ...names] : names).map((name) => ({ value: name, label: name }))
  return (
    <NativeSelect
      label={t.clients.policy}
      description={t.clients.policyHelp}
      data={[{ value: '', label: t.clients.noPolicy }, ...choices]}
      value={value ?? ''}
      {...field}
    />
  )
}
