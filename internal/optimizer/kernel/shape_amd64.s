#include "textflag.h"

// The constants of shape_amd64.go, by their place in its table.
#define LOG2E    0(DX)
#define LN2HIGH  32(DX)
#define LN2LOW   64(DX)
#define SMALLEST 96(DX)
#define FARTHEST 128(DX)
#define ONE      160(DX)
#define MINUSHALF 192(DX)
#define THREE    224(DX)
#define FIVE     256(DX)
#define THIRD    288(DX)
#define FACTORIAL13 320(DX)
#define TERM(k)  (320+32*k)(DX)

// EXP turns Y0 = x ≤ 0 into e^x, by the steps of exp in exp.go. It uses Y1 to Y4.
#define EXP \
	VCMPPD       $0x1d, SMALLEST, Y0, Y4 \
	VMULPD       LOG2E, Y0, Y1           \
	VROUNDPD     $8, Y1, Y1              \
	VFNMADD231PD LN2HIGH, Y1, Y0         \
	VFNMADD231PD LN2LOW, Y1, Y0          \
	VMOVUPD      FACTORIAL13, Y2         \
	VFMADD213PD  TERM(1), Y0, Y2         \
	VFMADD213PD  TERM(2), Y0, Y2         \
	VFMADD213PD  TERM(3), Y0, Y2         \
	VFMADD213PD  TERM(4), Y0, Y2         \
	VFMADD213PD  TERM(5), Y0, Y2         \
	VFMADD213PD  TERM(6), Y0, Y2         \
	VFMADD213PD  TERM(7), Y0, Y2         \
	VFMADD213PD  TERM(8), Y0, Y2         \
	VFMADD213PD  TERM(9), Y0, Y2         \
	VFMADD213PD  TERM(10), Y0, Y2        \
	VFMADD213PD  TERM(11), Y0, Y2        \
	VFMADD213PD  ONE, Y0, Y2             \
	VFMADD213PD  ONE, Y0, Y2             \
	VCVTPD2DQY   Y1, X3                  \
	VPMOVSXDQ    X3, Y3                  \
	VPSLLQ       $52, Y3, Y3             \
	VPADDQ       Y3, Y2, Y2              \
	VANDPD       Y4, Y2, Y0

// BEGIN loads the arguments of a shape: SI the values, CX their number, Y15 the variance, Y14 zero.
#define BEGIN \
	MOVQ         values+0(FP), SI   \
	VBROADCASTSD variance+8(FP), Y15 \
	MOVQ         n+16(FP), CX       \
	LEAQ         ·constants(SB), DX \
	VXORPD       Y14, Y14, Y14      \
	XORQ         AX, AX

#define NEXT(again) \
	VMOVUPD Y0, (SI)(AX*8) \
	ADDQ    $4, AX         \
	CMPQ    AX, CX         \
	JLT     again          \
	VZEROUPPER             \
	RET

// func squaredExponentialAVX2(values *float64, variance float64, n int)
TEXT ·squaredExponentialAVX2(SB), NOSPLIT, $0-24
	BEGIN

se:
	VMOVUPD (SI)(AX*8), Y0
	VMULPD  MINUSHALF, Y0, Y0
	EXP
	VMULPD  Y15, Y0, Y0
	NEXT(se)

// func matern12AVX2(values *float64, variance float64, n int)
TEXT ·matern12AVX2(SB), NOSPLIT, $0-24
	BEGIN

half:
	VSQRTPD (SI)(AX*8), Y0
	VSUBPD  Y0, Y14, Y0
	EXP
	VMULPD  Y15, Y0, Y0
	NEXT(half)

// func matern32AVX2(values *float64, variance float64, n int)
TEXT ·matern32AVX2(SB), NOSPLIT, $0-24
	BEGIN

threehalves:
	VMOVUPD (SI)(AX*8), Y5
	VMULPD  THREE, Y5, Y5
	VSQRTPD Y5, Y5          // s
	VSUBPD  Y5, Y14, Y0
	VADDPD  ONE, Y5, Y5
	VMULPD  Y15, Y5, Y5
	EXP
	VMULPD  Y5, Y0, Y0
	NEXT(threehalves)

// func matern52AVX2(values *float64, variance float64, n int)
TEXT ·matern52AVX2(SB), NOSPLIT, $0-24
	BEGIN

fivehalves:
	VMOVUPD     (SI)(AX*8), Y6
	VMULPD      FIVE, Y6, Y6 // s²
	VSQRTPD     Y6, Y5       // s
	VSUBPD      Y5, Y14, Y0
	VADDPD      ONE, Y5, Y5
	VFMADD231PD THIRD, Y6, Y5
	VMULPD      Y15, Y5, Y5
	EXP
	VMULPD      Y5, Y0, Y0
	NEXT(fivehalves)

// func squaredDistancesAVX2(dst, x, inverse, ys *float64, stride, p, n int)
TEXT ·squaredDistancesAVX2(SB), NOSPLIT, $0-56
	MOVQ    dst+0(FP), BX
	MOVQ    x+8(FP), SI
	MOVQ    inverse+16(FP), DI
	MOVQ    ys+24(FP), R8
	MOVQ    stride+32(FP), R13
	MOVQ    p+40(FP), R12
	MOVQ    n+48(FP), CX
	LEAQ    ·constants(SB), DX
	VMOVUPD FARTHEST, Y5
	SHLQ    $3, R13 // bytes between coordinates

points:
	MOVQ   R8, R9
	VXORPD Y0, Y0, Y0
	XORQ   AX, AX

coordinates:
	CMPQ         (DI)(AX*8), $0
	JEQ          next
	VBROADCASTSD (SI)(AX*8), Y3
	VBROADCASTSD (DI)(AX*8), Y4
	VSUBPD       (R9), Y3, Y3
	VMULPD       Y4, Y3, Y3
	VFMADD231PD  Y3, Y3, Y0

next:
	ADDQ    R13, R9
	INCQ    AX
	CMPQ    AX, R12
	JLT     coordinates
	VMINPD  Y0, Y5, Y0
	VMOVUPD Y0, (BX)
	ADDQ    $32, BX
	ADDQ    $32, R8
	SUBQ    $4, CX
	JGT     points
	VZEROUPPER
	RET
