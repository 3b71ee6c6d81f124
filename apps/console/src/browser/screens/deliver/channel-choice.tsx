import { Checkbox, Group } from '@mantine/core'
import { useWords } from './code-words.ts'

/** The channels that there are. */
export const channelNames = ['push', 'email', 'sms', 'in-app'] as const
/** A channel. */
export type ChannelName = (typeof channelNames)[number]

interface ChannelChoiceProps {
  readonly label: string
  readonly description?: string
  readonly value: readonly ChannelName[]
  readonly onChange: (channels: ChannelName[]) => void
}

/** A choice of channels. */
export function ChannelChoice({ label, description, value, onChange }: ChannelChoiceProps) {
  const words = useWords()
  return (
    <Checkbox.Group
      label={label}
      {...(description === undefined ? {} : { description })}
      value={[...value]}
      onChange={(chosen) => onChange(channelNames.filter((name) => chosen.includes(name)))}
    >
      <Group gap="md" mt={6}>
        {channelNames.map((name) => (
          <Checkbox key={name} value={name} label={words.channel(name)} />
        ))}
      </Group>
    </Checkbox.Group>
  )
}
