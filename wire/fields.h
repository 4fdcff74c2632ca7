// Copies plain fields that have the same name in a struct and in its message, in both directions,
// from one list:
//
//   #define ERIS_SHARE_FIELDS(F) F(rows) F(bytes)
//   void Fill(const Share& from, v1::Share* to) { ERIS_SHARE_FIELDS(ERIS_SET_FIELD) }
//   void Take(const v1::Share& from, Share* to) { ERIS_SHARE_FIELDS(ERIS_TAKE_FIELD) }
//
// Inside this folder's sources only.
#ifndef ERIS_WIRE_FIELDS_H_
#define ERIS_WIRE_FIELDS_H_

#define ERIS_SET_FIELD(field) to->set_##field(from.field);
#define ERIS_TAKE_FIELD(field) to->field = from.field();

// Defines Fill and Take for such a pair without other fields.
#define ERIS_SAME_FIELDS(Struct, FIELDS)                                   \
  void Fill(const Struct& from, v1::Struct* to) { FIELDS(ERIS_SET_FIELD) } \
  void Take(const v1::Struct& from, Struct* to) { FIELDS(ERIS_TAKE_FIELD) }

#endif  // ERIS_WIRE_FIELDS_H_
